import { env } from "#lib/env.ts";
import { AppError } from "#lib/platform/app-error.ts";

const readMethods = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Refuses a change that a cookie would authenticate but that another site's page sent.
 * Both headers are set by the browser and out of a page's reach. The content type is no defence: a form can post text/plain.
 */
export function refuseCrossSite(request: Request): void {
  if (readMethods.has(request.method)) return;
  const fetchSite = request.headers.get("sec-fetch-site");
  const origin = request.headers.get("origin");
  // The deployment's own address, or the host that was asked, for previews that have another.
  const sameOrigin =
    origin !== null &&
    URL.canParse(origin) &&
    (origin === new URL(env().APP_URL).origin || new URL(origin).host === request.headers.get("host"));
  if (sameOrigin && (fetchSite === null || fetchSite === "same-origin")) return;
  throw new AppError("CROSS_SITE_REQUEST", { detail: "Changes are accepted from this site's own pages only." });
}
