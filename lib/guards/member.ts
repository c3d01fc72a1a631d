import { parseCookieHeader, serializeCookieHeader } from "@supabase/ssr";
import { readSessionUser, type SessionUser } from "#lib/auth/session-user.ts";
import { callAsUser, refreshOnly, type SessionClient, sessionClient } from "#lib/db/session-client.ts";
import type { Guard, GuardContext } from "#lib/http/handler.ts";
import { isCrossSiteChange } from "#lib/http/own-origin.ts";
import { AppError } from "#lib/platform/app-error.ts";
import type { SiteId } from "#lib/site.ts";
import { siteSummary } from "#lib/tenancy/site-fields.ts";
import { hasRole, type SiteRole } from "#lib/tenancy/site-roles.ts";
import { claimedSiteId } from "./claimed-site-id.ts";

export interface SignedIn {
  user: SessionUser;
  /** The session door, as this user. */
  db: SessionClient;
}

export interface SiteMember extends SignedIn {
  siteId: SiteId;
  role: SiteRole;
}

/** A client over the request's own cookies; a refreshed session goes out with the answer. */
function clientOf({ request, responseHeaders }: GuardContext): SessionClient {
  const given = parseCookieHeader(request.headers.get("cookie") ?? "");
  return sessionClient({
    getAll: () => given.map(({ name, value }) => ({ name, value: value ?? "" })),
    setAll: refreshOnly((list) => {
      for (const { name, value, options } of list) responseHeaders.append("set-cookie", serializeCookieHeader(name, value, options));
    }),
  });
}

/** A person with a session; their changes must come from our own pages. */
export const signedIn: Guard<SignedIn> = async (context) => {
  refuseCrossSite(context.request);
  const db = clientOf(context);
  const user = await readSessionUser(db);
  if (!user) throw new AppError("UNAUTHENTICATED");
  return { user, db };
};

/** A member of the site that the request names, in at least this role. Unknown and not-yours are the same 404. */
export function siteMember(role: SiteRole): Guard<SiteMember> {
  return async (context) => {
    const { user, db } = await signedIn(context);
    const siteId = claimedSiteId(context);
    if (!siteId) throw new AppError("NOT_FOUND");
    const site = await callAsUser(db, "get_site", { p_public_id: siteId }, siteSummary);
    if (!hasRole(site.role, role)) throw new AppError("FORBIDDEN");
    return { user, db, siteId, role: site.role };
  };
}

/** Refuses a change that a cookie would authenticate but that another origin's page sent. */
function refuseCrossSite(request: Request): void {
  if (isCrossSiteChange(request))
    throw new AppError("CROSS_SITE_REQUEST", { detail: "Changes are accepted from this site's own pages only." });
}
