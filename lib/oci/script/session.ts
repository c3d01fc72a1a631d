import { createHash } from "node:crypto";
import { EncryptJWT, jwtDecrypt } from "jose";
import { z } from "zod";
import { env } from "#lib/env.ts";
import type { SiteMachine } from "#lib/guards/machine.ts";
import { recordScriptRun } from "./runs.ts";

const lifetimeSeconds = 5 * 60;
const audience = "opsmantik:script";

const claims = z.object({ keyId: z.uuid() });

const encryptionKey = (secret: string) => createHash("sha256").update(secret).digest();

/** A token for the Google Ads Script. Encrypted, since a signed one would show the ids inside to anyone who holds it. */
export async function issueScriptSession(keyId: string, secret: string, now = new Date()): Promise<{ token: string; expiresAt: Date }> {
  const expiresAt = new Date(now.getTime() + lifetimeSeconds * 1000);
  const token = await new EncryptJWT({ keyId })
    .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
    .setAudience(audience)
    .setIssuedAt(now)
    .setExpirationTime(expiresAt)
    .encrypt(encryptionKey(secret));
  return { token, expiresAt };
}

/** The session inside a token; null for anything forged, altered or expired. */
export async function openScriptSession(token: string, secret: string, now = new Date()): Promise<{ keyId: string } | null> {
  try {
    const { payload } = await jwtDecrypt(token, encryptionKey(secret), {
      audience,
      currentDate: now,
      keyManagementAlgorithms: ["dir"],
      contentEncryptionAlgorithms: ["A256GCM"],
    });
    return claims.parse(payload);
  } catch {
    return null;
  }
}

/** The answer to a verified key. Only the key's id is inside the token, and nobody can read it. */
export async function openSession(
  { keyId, siteId }: SiteMachine,
  request: Request,
): Promise<{ session_token: string; expires_at: string }> {
  const { token, expiresAt } = await issueScriptSession(keyId, env().OCI_SESSION_SECRET);
  await recordScriptRun(siteId, { kind: "verify" }, request);
  return { session_token: token, expires_at: expiresAt.toISOString() };
}
