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
  const ownHost = request.headers.get("x-forwarded-host") ?? request.headers.get("host");
  const sameOrigin = origin !== null && ownHost !== null && URL.canParse(origin) && new URL(origin).host === ownHost;
  if (sameOrigin && (fetchSite === null || fetchSite === "same-origin")) return;
  throw new AppError("CROSS_SITE_REQUEST", { detail: "Changes are accepted from this site's own pages only." });
}
