import "server-only";
import { cookies } from "next/headers";
import { z } from "zod";
import { env } from "#lib/env.ts";
import { openToken, sealToken } from "#lib/platform/sealed-token.ts";
import { pageClient } from "./session.ts";

/**
 * Who came by a link from an e-mail chooses a password without knowing the present one. The cookie names the session that the link opened, so it is
 * worth nothing to another one.
 */
const linkKind = { purpose: "opsmantik:link-session", lifetimeSeconds: 15 * 60, payload: z.object({ sessionId: z.string().min(1) }) };
const cookieName = "om_link";
const path = "/new-password";

async function sessionId(): Promise<string | null> {
  const { data } = await (await pageClient()).auth.getClaims();
  return typeof data?.claims.session_id === "string" ? data.claims.session_id : null;
}

/** Remembers that this session was opened by a link. */
export async function rememberLink(): Promise<void> {
  const id = await sessionId();
  if (!id) return;
  (await cookies()).set(cookieName, await sealToken(linkKind, { sessionId: id }), {
    path,
    httpOnly: true,
    sameSite: "lax",
    secure: env().APP_URL.startsWith("https:"),
    maxAge: linkKind.lifetimeSeconds,
  });
}

export async function forgetLink(): Promise<void> {
  (await cookies()).delete({ name: cookieName, path });
}

/** Whether this session was opened by a link of the last 15 minutes. */
export async function cameByLink(): Promise<boolean> {
  const token = (await cookies()).get(cookieName)?.value;
  const known = token ? await openToken(linkKind, token) : null;
  return known !== null && known.sessionId === (await sessionId());
}
