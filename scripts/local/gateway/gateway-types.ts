/**
 * Types as PostgREST answers them. The gateway's defaults differ in four: a jsonb argument arrives encoded twice,
 * numeric is a string, and a timestamptz has a space and a short offset.
 */
const json = {
  // The gateway passes objects as JSON text already.
  serialize: (value: unknown) => (typeof value === "string" && /^\s*[[{]/.test(value) ? value : JSON.stringify(value)),
  parse: (text: string): unknown => JSON.parse(text),
};

export const gatewayTypes = {
  json: { to: 114, from: [114], ...json },
  jsonb: { to: 3802, from: [3802], ...json },
  numeric: { to: 1700, from: [1700], serialize: String, parse: Number },
  timestamptz: { to: 1184, from: [1184], serialize: (value: unknown) => value, parse: isoTimestamp },
};

function isoTimestamp(text: string): string {
  return text.replace(/^(\S+) (\S+?)([+-]\d\d)$/, "$1T$2$3:00");
}
