import { randomBytes } from "node:crypto";
import { z } from "zod";
import { clientAddress, type RateLimit } from "#lib/http/rate-limit.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { redis } from "#lib/platform/redis.ts";
import { consentOf } from "./consent.ts";
import { refusal } from "./read-batch.ts";
import type { TrackerPage } from "./tracker-guard.ts";

/** Page views wait in Redis for the script's next export; they are a volume signal, never billed and never the only copy of anything. */
const waitingMax = 5_000;
const keptSeconds = 3 * 86_400;

const clickId = z
  .string()
  .max(512)
  .regex(/^[\w.-]+$/)
  .nullish()
  .catch(null);
const pageView = z.object({
  siteId: z.string(),
  gclid: clickId,
  wbraid: clickId,
  gbraid: clickId,
  consent_scopes: z.array(z.string()).max(10).optional().catch([]), // unreadable scopes grant nothing
});

export interface PageView {
  publicId: string;
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
  return { publicId: parsed.data.siteId, view: parsed.data };
}

/** Closed without Redis: that is where the view would go. */
export const pageViewLimit: RateLimit<TrackerPage> = {
  name: "track-pv",
  requests: 2000,
  windowSeconds: 60,
  key: ({ request, actor }) => `${actor.publicId}:${clientAddress(request.headers)}`,
  whenRedisIsDown: "fail-closed",
};

/** Keeps a page view that came through an ad. Without a click id or without marketing consent there is nothing to keep. */
export async function trackPageView(
  { site, publicId, view }: TrackerPage & PageView,
  now = new Date(),
): Promise<Response | { ok: true; id?: string }> {
  const { gclid, wbraid, gbraid } = view;
  if (!consentOf(view.consent_scopes, site.consentMode).marketing) {
    return new Response(null, { status: 204, headers: { "x-opsmantik-consent-missing": "marketing" } });
  }
  if (!gclid && !wbraid && !gbraid) return { ok: true };
  const id = `pv_${randomBytes(16).toString("hex")}`;
  const queue = `pv:queue:${publicId}`;
  const data = JSON.stringify({ gclid: gclid ?? "", wbraid: wbraid ?? "", gbraid: gbraid ?? "", viewedAt: now.toISOString() });
  try {
    const pipeline = redis().pipeline();
    pipeline.rpush(queue, id).set(`pv:data:${id}`, data, { ex: keptSeconds }).expire(queue, keptSeconds);
    const [waiting] = await pipeline.exec<[number, unknown, unknown]>();
    if (waiting > waitingMax) await forgetOldest(queue, waiting - waitingMax);
  } catch (error) {
    throw new AppError("REDIS_UNAVAILABLE", { cause: error });
  }
  return { ok: true, id };
}

/** With their data: a flood fills the queue's bound and nothing else. */
async function forgetOldest(queue: string, count: number): Promise<void> {
  const ids = (await redis().lpop<string[]>(queue, count)) ?? [];
  if (ids.length > 0) await redis().del(...ids.map((id) => `pv:data:${id}`));
}
