import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { AppError } from "#lib/platform/app-error.ts";
import type { SiteId, SiteUuid } from "#lib/site.ts";
import { type KeyRing, keyRing, openSecret, type SealedSecret, type SecretPlace, sealSecret } from "#lib/vault/secret.ts";
import { lookUpSite } from "./site-cache.ts";

/** The secret that a telephone system signs its calls with. It is stored encrypted, shown once, and checked here. */

const secretState = z.object({ madeAt: z.string().nullable(), previousUntil: z.string().nullable() });
export type CallSecretState = z.output<typeof secretState>;

/** A site's sealed call secret opens for this site and nothing else. */
export const callSecretPlace = (siteUuid: SiteUuid): SecretPlace => ({ siteUuid, purpose: "call_event_secret" });

export function newCallSecret(siteUuid: SiteUuid, ring: KeyRing = keyRing()): { secret: string; stored: SealedSecret } {
  const secret = randomBytes(32).toString("hex");
  return { secret, stored: sealSecret(secret, callSecretPlace(siteUuid), ring) };
}

export const readCallSecret = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "call_event_secret", { p_public_id: siteId }, secretState);

/** Makes a secret, in place of the one before if there is one. This answer is the only place where it can be read. */
export async function replaceCallSecret(db: SessionClient, siteId: SiteId): Promise<CallSecretState & { secret: string }> {
  const site = await lookUpSite(siteId);
  if (!site) throw new AppError("NOT_FOUND");
  const { secret, stored } = newCallSecret(site.siteUuid);
  const args = { p_public_id: siteId, p_key_id: stored.keyId, p_sealed: stored.sealed };
  return { secret, ...(await callAsUser(db, "replace_call_event_secret", args, secretState)) };
}

/** For a site that is unknown or has no secret: the answer takes as long as with a wrong signature. */
const nobodysSecret = randomBytes(32).toString("hex");

interface Signed {
  text: string;
  /** Hex. */
  signature: string;
}

function hasSigned(secret: string, { text, signature }: Signed): boolean {
  const [made, given] = [createHmac("sha256", secret).update(text).digest(), Buffer.from(signature, "hex")];
  return made.length === given.length && timingSafeEqual(made, given);
}

/**
 * Whether one of the site's secrets made this signature. A secret that does not open here cannot be said to be wrong: without another
 * that fits, the vault's error is thrown (503), so that a telephone system tries again and no call is lost.
 */
export function isSignedBySite(site: { siteUuid: SiteUuid; secrets: SealedSecret[] } | null, signed: Signed): boolean {
  if (!site || site.secrets.length === 0) return hasSigned(nobodysSecret, signed) && false;
  let closed: unknown;
  let fits = false;
  for (const sealed of site.secrets) {
    try {
      fits = hasSigned(openSecret(sealed, callSecretPlace(site.siteUuid)), signed) || fits;
    } catch (error) {
      closed = error;
    }
  }
  if (!fits && closed !== undefined) throw closed;
  return fits;
}
