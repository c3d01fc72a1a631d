import { env } from "#lib/env.ts";

const readMethods = new Set(["GET", "HEAD", "OPTIONS"]);

/** The deployment's own address, or over https the host that was asked, for previews that have another; http only where the deployment has it. */
function isOwnOrigin(origin: string | null, host: string | null): boolean {
  const { origin: ours, protocol } = new URL(env().APP_URL);
  if (origin === null || origin === ours) return origin === ours;
  return host !== null && (origin === `https://${host}` || (protocol === "http:" && origin === `http://${host}`));
}

/**
 * Whether a request changes something and another origin's page sent it, or nobody says which page did. Scheme, host and port all
 * count: over http anybody on the way can write our page. Both headers are set by the browser and out of a page's reach. The content type is no
 * defence: a form can post text/plain.
 */
export function isCrossSiteChange({ method, headers }: Pick<Request, "method" | "headers">): boolean {
  if (readMethods.has(method)) return false;
  const fetchSite = headers.get("sec-fetch-site");
  return !isOwnOrigin(headers.get("origin"), headers.get("host")) || (fetchSite !== null && fetchSite !== "same-origin");
}
