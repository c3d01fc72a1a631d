import { createHmac, hkdfSync } from "node:crypto";
import { env } from "#lib/env.ts";
import { type KeyRing, keyRing } from "./secret.ts";

/** A telephone number as it is stored: HMAC of the SHA-256 of its E.164 form. The bare SHA-256 of all numbers of a country takes seconds to compute. */
export interface CallerHash {
  hash: string;
  /** Which vault key it comes from. */
  keyId: string;
}

type Variables = Parameters<typeof keyRing>[0];

/** Without a vault key no number is hashed, and sales find their call by its click alone. */
export function callerRing(variables: Variables = env()): KeyRing | undefined {
  return variables?.OPSMANTIK_VAULT_KEY ? keyRing(variables) : undefined;
}

/** Its own key, derived from the vault's: neither opens or makes what is the other's. */
const purpose = "opsmantik/caller-hash";

function hashWith({ id, bytes }: KeyRing["current"], sha256: string): CallerHash {
  const key = Buffer.from(hkdfSync("sha256", bytes, "", purpose, 32));
  return { hash: createHmac("sha256", key).update(sha256).digest("hex"), keyId: id };
}

/** The hash under each key of the ring, the current one first: during a rotation calls are stored under both. */
export function callerHashes(sha256: string, ring: KeyRing | undefined): CallerHash[] {
  if (!ring) return [];
  return [ring.current, ring.previous].flatMap((key) => (key ? [hashWith(key, sha256.toLowerCase())] : []));
}
