import { createHash } from "node:crypto";
import { createClient } from "@supabase/supabase-js";
import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { env } from "#lib/env.ts";
import { onceAnswer, type RequestIdentity, serveOnce } from "#lib/http/answer-once.ts";
import { enforceLimit, type RateLimit } from "#lib/http/rate-limit.ts";
import { log } from "#lib/platform/log.ts";
import type { SiteId } from "#lib/site.ts";
import type { SiteRole } from "./site-roles.ts";

type InviteArgs = { p_public_id: SiteId; p_email: string; p_role: SiteRole } & RequestIdentity;

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

/** Protects an inbox, no matter who invites it and to how many sites. */
const mailsToOneAddress = (email: string): RateLimit => ({
  name: "invite-address",
  requests: 5,
  windowSeconds: 3600,
  key: () => createHash("sha256").update(email).digest("base64url"),
  whenRedisIsDown: "fail-closed",
});

interface Invite {
  siteId: SiteId;
  email: string;
  role: SiteRole;
  once: RequestIdentity;
}

const invited = z.object({ invitationId: z.string(), email: z.string() });

/**
 * Invites an address. The invitation is valid even when its mail could not be sent (`mailed` says so):
 * the invited person finds it after any sign-in.
 */
export async function inviteMember(db: SessionClient, { siteId, email, role, once }: Invite) {
  await enforceLimit(mailsToOneAddress(email), { request: new Request(env().APP_URL), actor: undefined });
  const args = { p_public_id: siteId, p_email: email, p_role: role, ...once };
  if (once.p_key !== undefined) return inviteOnce(db, args, once.p_key);
  const made = await callAsUser(db, "invite_site_member", args, invited);
  return { invitationId: made.invitationId, mailed: await mailSignInLink(made.email) };
}

/**
 * A mail cannot be rolled back, so only the request that made the invitation sends it.
 * `mailed` is stored after sending. A retry never sends again; if the first request died before it stored `mailed`, the retry says false.
 */
async function inviteOnce(db: SessionClient, args: InviteArgs, key: string): Promise<Response> {
  const answer = await callAsUser(db, "invite_site_member", args, onceAnswer);
  if (answer.status >= 400) return serveOnce(answer);
  const { invitationId, email } = invited.parse(JSON.parse(answer.body));
  const word = {
    p_public_id: args.p_public_id,
    p_invitation_id: invitationId,
    p_mailed: !answer.replayed && (await mailSignInLink(email)),
    p_request_hash: args.p_request_hash,
    p_key: key,
  };
  const recorded = await callAsUser(db, "record_invitation_mail", word, onceAnswer);
  return serveOnce({ ...recorded, replayed: answer.replayed });
}
