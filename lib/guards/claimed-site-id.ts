import type { GuardContext } from "#lib/http/handler.ts";
import { type SiteId, siteIdShape } from "#lib/site.ts";

/** A field of an unchecked JSON body; undefined when the body is no object or lacks the field. */
export function claimedField(rawBody: string, name: string): unknown {
  try {
    const body: unknown = JSON.parse(rawBody);
    return typeof body === "object" && body !== null ? Object.entries(body).find(([key]) => key === name)?.[1] : undefined;
  } catch {
    return undefined;
  }
}

/** The site a request says it is about: in its path, its query or its JSON body. A claim, until a guard has checked it. */
export function claimedSiteId({ request, rawBody, params }: GuardContext): SiteId | undefined {
  const named = params.siteId ?? new URL(request.url).searchParams.get("siteId");
  if (named) return siteIdShape.parse(named);
  const claimed = claimedField(rawBody, "siteId");
  return claimed === undefined ? undefined : siteIdShape.parse(typeof claimed === "string" ? claimed : "");
}
