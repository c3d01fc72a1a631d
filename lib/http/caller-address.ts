import { isIPv6 } from "node:net";
import { env, type TrustedProxy } from "#lib/env.ts";
import { keyedHash } from "#lib/platform/keyed-hash.ts";
import { rememberRecent } from "#lib/platform/remember-recent.ts";

/** The socket's own address, written by note-peer.ts over whatever the caller sent under this name. */
export const peerHeader = "x-opsmantik-peer";

function forwardedAddress(headers: Headers, hops: number): string | undefined {
  const list = (headers.get("x-forwarded-for") ?? "").split(",");
  // Each trusted proxy appends the address that it saw, so what a caller wrote himself is further left than we look.
  return list[Math.max(0, list.length - hops)];
}

/** The caller's address, as far as TRUSTED_PROXY lets us believe it. It limits; it never authenticates. */
export function clientAddress(headers: Headers, trusted: TrustedProxy = env().TRUSTED_PROXY): string {
  const given =
    trusted === "none"
      ? headers.get(peerHeader)
      : trusted === "vercel"
        ? (headers.get("x-vercel-forwarded-for") ?? headers.get("x-forwarded-for"))?.split(",")[0]
        : forwardedAddress(headers, trusted);
  return given?.trim().slice(0, 64) || "unknown";
}

/** An IPv6 caller has 2^64 addresses of their own, so the network counts; IPv4 may be written as IPv6. */
export function addressRange(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  if (!isIPv6(plain)) return plain;
  const [head = "", tail = ""] = plain.toLowerCase().split("::");
  const before = head.split(":").filter(Boolean);
  const after = tail.split(":").filter(Boolean);
  const whole = plain.includes("::") ? [...before, ...Array(8 - before.length - after.length).fill("0"), ...after] : before;
  return `${whole
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":")}::/64`;
}

/** A request's several limits ask for the same address, and a visitor sends several requests. */
const hashes = new WeakMap<Headers, string>();
const hashOfAddress = rememberRecent(5_000, (address) => keyedHash("address", addressRange(address)));

/** What stands for an address in Redis and wherever it is kept. */
export function hashedAddress(headers: Headers): string {
  const known = hashes.get(headers);
  if (known !== undefined) return known;
  const hash = hashOfAddress(clientAddress(headers));
  hashes.set(headers, hash);
  return hash;
}
