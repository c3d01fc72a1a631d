import { createHash } from "node:crypto";
import { createClient } from "@supabase/supabase-js";
import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { env } from "#lib/env.ts";
import { enforceLimit, type RateLimit } from "#lib/http/rate-limit.ts";
import { log } from "#lib/platform/log.ts";
import type { SiteRole } from "./site-fields.ts";

/**
 * Mails a sign-in link, which also makes the account of a new address. Supabase Auth writes and sends it.
 * A client without a session: the owner who invites stays signed in as themselves.
 */
async function mailSignInLink(email: string): Promise<boolean> {
  const { SUPABASE_URL, SUPABASE_PUBLISHABLE_KEY } = env();
  const { auth } = createClient(SUPABASE_URL, SUPABASE_PUBLISHABLE_KEY, {
    auth: { persistSession: false, autoRefreshToken: false },
    global: { fetch: (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(10_000) }) },
  });
  const { error } = await auth.signInWithOtp({ email, options: { shouldCreateUser: true } });
  if (error) log.warn("invitation not mailed", { error });
  return !error;
}

/** Nobody's inbox is filled by us, whoever invites it, to however many sites. */
const mailsToOneAddress = (email: string): RateLimit => ({
  name: "invite-address",
  requests: 5,
  windowSeconds: 3600,
  key: () => createHash("sha256").update(email).digest("base64url"),
  whenRedisIsDown: "fail-closed",
});

/**
 * Invites an address. The invitation stands even when its mail could not be sent: `mailed` says so,
 * and the invited person finds it after signing in in any way.
 */
export async function inviteMember(db: SessionClient, publicId: string, invite: { email: string; role: SiteRole }) {
  await enforceLimit(mailsToOneAddress(invite.email), { request: new Request(env().APP_URL), actor: undefined });
  const { invitationId, email } = await callAsUser(
    db,
    "invite_site_member",
    { p_public_id: publicId, p_email: invite.email, p_role: invite.role },
    z.object({ invitationId: z.string(), email: z.string() }),
  );
  return { invitationId, mailed: await mailSignInLink(email) };
}
