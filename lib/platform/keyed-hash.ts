import { createHmac } from "node:crypto";
import { env } from "#lib/env.ts";

/** What stands for an address or an account where it must not be readable. Keyed: a bare hash of an IPv4 address is found by trying all of them. */
export function keyedHash(purpose: "address" | "range" | "account" | "device", text: string): string {
  return createHmac("sha256", env().OCI_SESSION_SECRET).update(`${purpose}:${text}`).digest("base64url").slice(0, 22);
}
