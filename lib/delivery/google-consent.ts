import { parseCookieHeader, serializeCookieHeader } from "@supabase/ssr";
import { z } from "zod";
import { env } from "#lib/env.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { isHttps, prefixedCookie } from "#lib/platform/cookie-name.ts";
import { openToken, sealToken } from "#lib/platform/sealed-token.ts";
import { exchangeCode } from "#lib/providers/google/exchange-code.ts";
import { googleHosts, googleScopes } from "#lib/providers/google/hosts.ts";
import { siteIdShape } from "#lib/site.ts";
import type { Consent } from "./connect.ts";
import { orUnavailable } from "./site-connection.ts";

/**
 * An owner's consent on Google's own page, instead of copied tokens. The refresh token waits in an encrypted cookie, readable by us alone, until
 * the owner has chosen account and conversion action; then connect stores it in the vault.
 */

const asker = z.object({ siteId: siteIdShape, userId: z.string() });
type Asker = z.output<typeof asker>;

const stateKind = { purpose: "opsmantik:google-consent-state", lifetimeSeconds: 10 * 60, payload: asker };
const grantKind = { purpose: "opsmantik:google-consent", lifetimeSeconds: 30 * 60, payload: asker.extend({ refreshToken: z.string() }) };
/** It has a path, so it cannot have the stricter prefix. */
const cookieName = () => prefixedCookie("__Secure-", "om_google_consent");

export const callbackQuery = z.object({ state: z.string(), code: z.string().optional(), error: z.string().optional() });

/** One address for all sites: Google takes only addresses that were registered with the client. */
const callbackUrl = () => new URL("/api/google-ads/oauth/callback", env().APP_URL).href;

function requireClient(): { client_id: string; client_secret: string } {
  const { GOOGLE_OAUTH_CLIENT_ID: client_id, GOOGLE_OAUTH_CLIENT_SECRET: client_secret } = env();
  if (!client_id || !client_secret) throw new AppError("NOT_FOUND", { detail: "No Google OAuth client is configured here." });
  return { client_id, client_secret };
}

/** Sends the owner to Google's consent page. */
export async function startConsent(who: Asker): Promise<Response> {
  const url = new URL(googleHosts().consent);
  url.search = new URLSearchParams({
    client_id: requireClient().client_id,
    redirect_uri: callbackUrl(),
    response_type: "code",
    scope: Object.values(googleScopes).join(" "),
    access_type: "offline", // a refresh token, …
    prompt: "consent", // … also for somebody who consented before
    state: await sealToken(stateKind, who),
  }).toString();
  return redirect(url.href);
}

/** Google sends the owner back. The state says who asked for which site; only that person may return with it. */
export async function finishConsent(userId: string, { state, code, error }: z.output<typeof callbackQuery>): Promise<Response> {
  const asked = await openToken(stateKind, state);
  if (!asked || asked.userId !== userId) {
    throw new AppError("FORBIDDEN", { detail: "This answer from Google belongs to another session, or is too old. Connect again." });
  }
  const page = new URL(`/dashboard/site/${asked.siteId}/connections/google-ads`, env().APP_URL);
  const refreshToken = code && !error ? await orUnavailable(exchangeCode({ ...requireClient(), code, redirectUri: callbackUrl() })) : null;
  page.searchParams.set("consent", refreshToken ? "given" : "refused");
  return redirect(page.href, refreshToken ? consentCookie(asked, await sealToken(grantKind, { ...asked, refreshToken })) : undefined);
}

/** The consent that waits in this request's cookie, of this person for this site. */
export async function readConsent(request: Request, who: Asker): Promise<Consent | null> {
  const cookie = parseCookieHeader(request.headers.get("cookie") ?? "").find(({ name }) => name === cookieName());
  const grant = cookie?.value ? await openToken(grantKind, cookie.value) : null;
  if (!grant || grant.userId !== who.userId || grant.siteId !== who.siteId) return null;
  return { ...requireClient(), refresh_token: grant.refreshToken };
}

function consentCookie({ siteId }: Asker, value: string): string {
  return serializeCookieHeader(cookieName(), value, {
    path: `/api/sites/${siteId}/google-ads`,
    httpOnly: true,
    sameSite: "lax",
    secure: isHttps(),
    maxAge: grantKind.lifetimeSeconds,
  });
}

function redirect(location: string, cookie?: string): Response {
  return new Response(null, { status: 303, headers: { location, ...(cookie && { "set-cookie": cookie }) } });
}
