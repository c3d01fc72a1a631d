import { z } from "zod";
import { hashedAddress } from "#lib/http/caller-address.ts";
import type { RateLimit } from "#lib/http/rate-limit.ts";
import { keepPageView, refusedMarketing } from "#lib/oci/handout/page-views.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { type SiteId, siteIdShape } from "#lib/site.ts";
import { consentOf } from "./capture-event.ts";
import { age, isReservedId } from "./event-shape.ts";
import { refusal } from "./read-batch.ts";
import { hashedRange } from "./request-origin.ts";
import type { TrackerPage } from "./tracker-guard.ts";
import { dropReason } from "./tracker-guard.ts";

const clickId = z
  .string()
  .max(512)
  .regex(/^[\w.-]+$/)
  .nullish()
  .catch(null);
const pageView = z.object({
  siteId: siteIdShape,
  gclid: clickId,
  wbraid: clickId,
  gbraid: clickId,
  consent_scopes: z.array(z.string()).max(10).optional().catch([]), // unreadable scopes grant nothing
  fp: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .refine((id) => !isReservedId(id))
    .nullish()
    .catch(null),
  /** How long ago it happened, when it was sent. */
  t: age,
});

export interface PageView {
  siteId: SiteId;
  view: z.output<typeof pageView>;
}

export function readPageView(rawBody: string): PageView {
  let body: unknown;
  try {
    body = JSON.parse(rawBody);
  } catch {
    throw refusal("invalid_json", "The body is not JSON.");
  }
  const parsed = pageView.safeParse(body);
  if (!parsed.success) throw refusal("missing_site_or_url", "Say in siteId which site this is.");
  return { siteId: parsed.data.siteId, view: parsed.data };
}

/** Closed without Redis: that is where the view would go. */
const byAddress: RateLimit<TrackerPage> = {
  name: "track-pv",
  requests: 2000,
  windowSeconds: 60,
  key: ({ request, actor }) => `${actor.siteId}:${hashedAddress(request.headers)}`,
  whenRedisIsDown: "fail-closed",
};
/** A full queue takes no more views. Within the three days that a view waits, one range can fill less than a sixth of it. */
const byRange: RateLimit<TrackerPage> = {
  ...byAddress,
  name: "track-pv-day",
  requests: 2500,
  windowSeconds: 86_400,
  key: ({ request, actor }) => `${actor.siteId}:${hashedRange(request.headers)}`,
  retryAfterMaxSeconds: 900,
};
export const pageViewLimits = [byAddress, byRange];

const withoutConsent = () => new Response(null, { status: 204, headers: { "x-opsmantik-consent-missing": "marketing" } });

/**
 * Keeps a page view that came through an ad, for the script's next export: a volume signal, never billed and never the only copy of
 * anything. Nothing is kept if the site's switch is off, if the visitor's last choice refuses it, or without the visitor's id:
 * a withdrawal could not find it.
 */
export async function trackPageView(
  { site, siteId, view }: TrackerPage & PageView,
  headers: Headers,
  now = new Date(),
): Promise<Response | { ok: true; id?: string }> {
  const { gclid, wbraid, gbraid, fp: visitor } = view;
  if (!site.pageViews) return { ok: true };
  if (dropReason(site, headers)) return new Response(null, { status: 204 });
  if (!consentOf(view.consent_scopes, site.consentMode).marketing) return withoutConsent();
  if (!visitor || !(gclid || wbraid || gbraid)) return { ok: true };
  if ((await refusedMarketing(site.siteUuid, [visitor])).size > 0) return withoutConsent();
  const viewedAt = new Date(now.getTime() - view.t).toISOString();
  const clicks = { gclid: gclid ?? "", wbraid: wbraid ?? "", gbraid: gbraid ?? "" };
  const id = await keepPageView(siteId, { ...clicks, viewedAt, visitor }, now).catch((error: unknown) => {
    throw new AppError("REDIS_UNAVAILABLE", { cause: error });
  });
  return { ok: true, ...(id && { id }) };
}
