/**
 * The query parameters that a stored address keeps: where a visit came from, and nothing about who came. Click ids are not among them: they
 * have columns of their own, where a withdrawal and an erasure find them.
 */
const keptParameters = new Set([
  "utm_source",
  "utm_medium",
  "utm_campaign",
  "utm_content",
  "utm_term",
  "utm_id",
  "utm_source_platform",
  "utm_creative_format",
  "utm_marketing_tactic",
  "gad_source",
  "gad_campaignid",
]);
const addressMaxChars = 4096;
/** Stands where a part of a path was left out. */
const leftOut = "_";

/** Whether a text holds an e-mail address, or whatever else has its sign. */
export const holdsMail = (text: string) => text.includes("@") || /%(25)?40/.test(text);

/** A number long enough for a telephone or an identity card; product and article numbers are shorter. */
const longNumber = /^\d{9,}$/;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** One part of a path, without the parameters some servers write into it (`;jsessionid=…`). */
function keptSegment(segment: string): string {
  const [name = ""] = segment.split(";", 1);
  const text = decoded(name);
  return holdsMail(text) || longNumber.test(text.replace(/[\s+().-]/g, "")) ? leftOut : name;
}

const keptPath = (path: string) => path.split("/").map(keptSegment).join("/");

function keptQuery(query: string): string {
  if (query === "") return "";
  const kept = [...new URLSearchParams(query)].filter(([name, value]) => keptParameters.has(name.toLowerCase()) && !holdsMail(value));
  return kept.length > 0 ? `?${new URLSearchParams(kept)}` : "";
}

/** A fragment is part of the page's name only if it is a route; any other may hold a secret. */
function keptFragment(fragment: string): string {
  if (!/^#[/!]/.test(fragment)) return "";
  const [route = "", ...query] = fragment.split("?");
  return keptPath(route) + keptQuery(query.join("?"));
}

/**
 * An address as it may be stored: scheme, host, path, route, and the parameters above. Names, numbers, e-mail addresses and ids in a
 * query never reach a table. null for what is no address of a host.
 */
export function storedAddress(address: string): string | null {
  if (!URL.canParse(address)) return null;
  const { protocol, host, pathname, search, hash } = new URL(address);
  if (host === "") return null;
  return `${protocol}//${host}${keptPath(pathname)}${keptQuery(search)}${keptFragment(hash)}`.slice(0, addressMaxChars);
}
