import { isIP } from "node:net";
import { clientAddress, hashedAddress } from "#lib/http/caller-address.ts";
import { keyedHash } from "#lib/platform/keyed-hash.ts";
import { rememberRecent } from "#lib/platform/remember-recent.ts";

/** Where a request came from, coarse enough to name no person: shown to a site's operators when a day is unusual. */
export interface RequestOrigin {
  /** "203.0.113.0/24" or "2001:db8:1::/48"; null where the address is not known. */
  network: string | null;
  browser: BrowserFamily | null;
}

const browserFamilies = ["chrome", "safari", "firefox", "edge", "opera", "samsung", "other"] as const;
export type BrowserFamily = (typeof browserFamilies)[number];

/** The first that a user agent names: most of them also name Chrome or Safari. */
const marks: [string, BrowserFamily][] = [
  ["Edg", "edge"],
  ["OPR/", "opera"],
  ["SamsungBrowser", "samsung"],
  ["Firefox", "firefox"],
  ["FxiOS", "firefox"],
  ["CriOS", "chrome"],
  ["Chrome", "chrome"],
  ["Safari", "safari"],
];

export function browserFamily(userAgent: string): BrowserFamily | null {
  const agent = userAgent.slice(0, 512);
  if (agent === "") return null;
  return marks.find(([mark]) => agent.includes(mark))?.[1] ?? "other";
}

/** The range of an address: its first 24 bits, or 48 of a longer one. Anything that is no address has none. */
export function addressRange(address: string): string | null {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  if (isIP(plain) === 4) return `${plain.split(".").slice(0, 3).join(".")}.0/24`;
  if (isIP(plain) !== 6) return null;
  const [head = "", tail] = plain.replace(/%.*$/, "").split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail ? tail.split(":") : [];
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  const groups = [...before, ...Array<string>(Math.max(0, zeros)).fill("0"), ...after].slice(0, 3);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/48`;
}

export const requestOrigin = (headers: Headers): RequestOrigin => ({
  network: addressRange(clientAddress(headers)),
  browser: browserFamily(headers.get("user-agent") ?? ""),
});

const hashOfRange = rememberRecent(5_000, (network) => keyedHash("range", network));

/** What stands for an address range in Redis. The whole range: who rents one address can get its neighbours, and of IPv6 65,536 networks. */
export function hashedRange(headers: Headers): string {
  const network = addressRange(clientAddress(headers));
  return network ? hashOfRange(network) : hashedAddress(headers);
}
