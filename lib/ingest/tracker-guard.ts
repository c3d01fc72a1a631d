import { isbot } from "isbot";
import { countFailures, type Guard, handler } from "#lib/http/handler.ts";
import { addressLimit } from "#lib/http/rate-limit.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { rememberRecent } from "#lib/platform/remember-recent.ts";
import type { SiteId } from "#lib/site.ts";
import { refusal } from "./read-batch.ts";
import { noteRefusedOrigin } from "./refused-origin.ts";
import { type IngestSite, lookUpSite, rememberedSite } from "./site-cache.ts";

export interface TrackerPage {
  site: IngestSite;
  siteId: SiteId;
}

/**
 * On every answer to a tracker, also on refusals: a page that cannot read a refusal takes it for a broken connection and
 * sends again for a day. Requests carry no cookie, so "*" gives nothing away.
 */
export const trackerHeaders = {
  vary: "Origin",
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "retry-after, x-request-id, x-opsmantik-dedup, x-opsmantik-fallback, x-opsmantik-overage, x-opsmantik-quota-exceeded, x-opsmantik-ratelimit, x-opsmantik-consent-missing, x-opsmantik-error-code",
};

/** The preflight request that a browser sends before application/json. Our own tracker sends text/plain, which needs none. */
export const preflight = handler({
  headers: {
    ...trackerHeaders,
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "content-type",
    "access-control-max-age": "86400",
  },
  guard: () => null,
  run: () => new Response(null, { status: 204 }),
});

/** Requests of one address to all sites, before the body is read. Whole offices and mobile networks share an address. */
export const trackerRequests = addressLimit("tracker-address", 3000);
/** Sites that one address may ask the database for in vain. Sites that this process knows are not affected. */
const unknownSites = [addressLimit("unknown-sites", 300)];

function orNotFound(site: IngestSite | null): IngestSite {
  if (site) return site;
  throw refusal("site_not_found", "There is no such site.");
}

async function namedSite(siteId: SiteId, request: Request): Promise<IngestSite> {
  const remembered = rememberedSite(siteId);
  if (remembered !== undefined) return orNotFound(await remembered);
  return countFailures(unknownSites, request, async () => orNotFound(await lookUpSite(siteId)));
}

/**
 * A page of the site that the request names. `read` finds that name in the raw body and may refuse it.
 * The origin is echoed only after it was found on the site's list.
 */
export function trackerPage<Read extends { siteId: SiteId }>(read: (rawBody: string) => Read): Guard<TrackerPage & Read> {
  return async ({ request, rawBody, responseHeaders }) => {
    const named = read(rawBody);
    const site = await namedSite(named.siteId, request);
    const origin = request.headers.get("origin");
    if (!isAllowedOrigin(origin, site.domains)) {
      await noteRefusedOrigin(site, request.headers);
      throw new AppError("ORIGIN_NOT_ALLOWED", {
        detail: "This page's domain is not on the site's list. An owner adds it under Settings.",
      });
    }
    responseHeaders.set("access-control-allow-origin", origin);
    return { ...named, site };
  };
}

/** Millions of visitors share a few thousand browsers, and its pattern takes longer than all other checks of a request. */
const isRobot = rememberRecent(2_000, (userAgent) => isbot(userAgent));

/** Why a whole request is turned away, whatever it says. Such events are neither stored nor billed, only counted. */
export function dropReason(site: IngestSite, headers: Headers): "bot" | "privacy_signal" | null {
  if (isRobot(headers.get("user-agent") ?? "")) return "bot";
  if (site.respectsPrivacySignal && (headers.get("sec-gpc") === "1" || headers.get("dnt") === "1")) return "privacy_signal";
  return null;
}

/** Whether a page may send events for a site: https on one of its domains or their www, http only on localhost. */
export function isAllowedOrigin(origin: string | null, domains: readonly string[]): origin is string {
  if (!origin) return false;
  // Nearly every request; parsing an address takes longer than all the rest of this.
  if (domains.some((domain) => origin === `https://${domain}` || origin === `https://www.${domain}`)) return true;
  if (!URL.canParse(origin)) return false;
  const { protocol, hostname, origin: canonical } = new URL(origin);
  if (origin !== canonical) return false; // a browser sends scheme, host and port, and nothing else
  const listed = domains.includes(hostname) || (hostname.startsWith("www.") && domains.includes(hostname.slice(4)));
  return listed && (protocol === "https:" || (protocol === "http:" && hostname === "localhost"));
}
