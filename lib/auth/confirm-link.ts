import { log } from "#lib/platform/log.ts";
import { pageClient } from "./session.ts";

/** Spends the one-time token of an e-mail link. A used or old one leads back to asking for another. */
export async function confirmLink(tokenHash: string, type: "recovery" | "email"): Promise<Response> {
  const { error } = await (await pageClient()).auth.verifyOtp({ token_hash: tokenHash, type });
  if (error) log.info("link not accepted", { type, reason: error.code });
  // A relative address: behind a proxy the server does not know by which name it was reached.
  const location = error ? "/forgot-password?error=LINK_EXPIRED" : "/new-password";
  return new Response(null, { status: 303, headers: { location } });
}
