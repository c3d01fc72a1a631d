import type { GuardContext } from "./handler.ts";

/** The site a request says it is about: in its path, its query or its JSON body. A claim, until a guard has checked it. */
export function claimedSiteId({ request, rawBody, params }: GuardContext): string | undefined {
  const named = params.siteId ?? new URL(request.url).searchParams.get("siteId");
  if (named) return named;
  try {
    const body: unknown = JSON.parse(rawBody);
    if (typeof body !== "object" || body === null || !("siteId" in body)) return undefined;
    return typeof body.siteId === "string" ? body.siteId : "";
  } catch {
    return undefined;
  }
}
