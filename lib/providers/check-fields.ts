/**
 * Checks JSON against Google's published fields. The table is extracted from the npm packages that it names (npm run fields:extract); fields that
 * Google documents and the packages lack are in google-fields-extra.json with their source.
 */

import published from "./google-fields.json" with { type: "json" };
import extra from "./google-fields-extra.json" with { type: "json" };

export interface FieldProblem {
  /** `events[3].conversionValue`; empty for the message itself. */
  path: string;
  kind: "unknown field" | "wrong type" | "unknown value" | "one of";
  detail: string;
}

const messages: Record<string, Record<string, string>> = { ...published.messages };
const enums: Record<string, string[]> = { ...published.enums };
const oneofs: Record<string, string[][]> = published.oneofs;
for (const { message, fields } of extra.messages) messages[message] = fields as unknown as Record<string, string>; // each has other fields
for (const { message, field, type } of extra.fields) messages[message] = { ...messages[message], [field]: type };
for (const { enum: name, values } of extra.enumValues) enums[name] = [...(enums[name] ?? []), ...values];

const isText = (value: unknown): value is string => typeof value === "string";
const isWhole = (value: unknown, min: number, max: number) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max;

/** REST takes and gives an int64 as text, since a JSON number cannot hold one. */
const scalarTypes: Record<string, (value: unknown) => boolean> = {
  string: isText,
  bool: (value) => typeof value === "boolean",
  double: (value) => Number.isFinite(value),
  float: (value) => Number.isFinite(value),
  int32: (value) => isWhole(value, -(2 ** 31), 2 ** 31 - 1),
  uint32: (value) => isWhole(value, 0, 2 ** 32 - 1),
  int64: (value) => isText(value) && /^-?\d{1,19}$/.test(value),
  uint64: (value) => isText(value) && /^\d{1,20}$/.test(value),
  index: (value) => isWhole(value, 0, 2 ** 31 - 1) || (isText(value) && /^\d+$/.test(value)),
  bytes: (value) => isText(value) && /^[A-Za-z0-9+/_-]*={0,2}$/.test(value),
  timestamp: (value) => isText(value) && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(value) && isMoment(value),
  duration: (value) => isText(value) && /^-?\d+(\.\d{1,9})?s$/.test(value),
  map: (value) => isObject(value) && Object.values(value).every(isText),
};

/** One line per unknown field, wrong type, unknown enum value or second member of a oneof; empty when all is as Google defines it. */
export function checkFields(message: string, json: unknown): string[] {
  return findFieldProblems(message, json).map(({ path, kind, detail }) => `${path || message}: ${kind}, ${detail}`);
}

export function findFieldProblems(message: string, json: unknown): FieldProblem[] {
  if (!messages[message]) throw new Error(`The table of Google's fields has no ${message}.`);
  return checkMessage(message, json, "");
}

function checkMessage(message: string, json: unknown, path: string): FieldProblem[] {
  if (!isObject(json)) return [wrongType(path, message, json)];
  const known = messages[message] ?? {};
  const problems = Object.entries(json).flatMap(([name, value]) => {
    const at = path ? `${path}.${name}` : name;
    const type = known[name];
    if (!type) return [{ path: at, kind: "unknown field" as const, detail: `${message} has no ${name}` }];
    return checkField(type, value, at);
  });
  for (const group of oneofs[message] ?? []) {
    const set = group.filter((name) => json[name] !== undefined && json[name] !== null);
    if (set.length > 1) problems.push({ path, kind: "one of", detail: `${message} takes one of ${set.join(", ")}` });
  }
  return problems;
}

/** A null is an unset field, whatever its type. */
function checkField(type: string, value: unknown, path: string): FieldProblem[] {
  if (value === null) return [];
  if (!type.endsWith("[]")) return checkValue(type, value, path);
  if (!Array.isArray(value)) return [wrongType(path, type, value)];
  return value.flatMap((item, index) => checkValue(type.slice(0, -2), item, `${path}[${index}]`));
}

function checkValue(type: string, value: unknown, path: string): FieldProblem[] {
  const scalar = scalarTypes[type];
  if (scalar) return scalar(value) ? [] : [wrongType(path, type, value)];
  const values = enums[type];
  if (values) {
    if (!isText(value)) return [wrongType(path, type, value)];
    return values.includes(value) ? [] : [{ path, kind: "unknown value", detail: `${type} has no ${value}` }];
  }
  return type === "any" ? checkAny(value, path) : checkMessage(type, value, path);
}

/** An Any carries the name of its message. `…/google.ads.googleads.v26.errors.X` is `googleads.errors.X` in the table. */
function checkAny(value: unknown, path: string): FieldProblem[] {
  if (!isObject(value) || !isText(value["@type"])) return [wrongType(path, "any", value)];
  const { "@type": type, ...rest } = value;
  const message = type.replace(/^type\.googleapis\.com\//, "").replace(/^google\.ads\.(googleads|datamanager)\.v\d+\./, "$1.");
  if (!messages[message]) return [{ path, kind: "unknown value", detail: `the table has no ${message}` }];
  return checkMessage(message, rest, path);
}

function wrongType(path: string, type: string, value: unknown): FieldProblem {
  return { path, kind: "wrong type", detail: `expected ${type}, not ${JSON.stringify(value)?.slice(0, 60)}` };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isMoment(text: string): boolean {
  return Number.isFinite(Date.parse(text));
}
