import { env } from "#lib/env.ts";
import type { SiteMachine } from "#lib/http/machine-guards.ts";
import { recordScriptRun } from "./script-runs.ts";
import { issueScriptSession } from "./script-session.ts";

/** The answer to a verified key. Only the key's id is inside the token, and nobody can read it. */
export async function openSession(
  { keyId, publicId }: SiteMachine,
  request: Request,
): Promise<{ session_token: string; expires_at: string }> {
  const { token, expiresAt } = await issueScriptSession(keyId, env().OCI_SESSION_SECRET);
  await recordScriptRun(publicId, { kind: "verify" }, request);
  return { session_token: token, expires_at: expiresAt.toISOString() };
}
