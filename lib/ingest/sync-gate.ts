import { hashedAddress } from "#lib/http/caller-address.ts";
import type { RateLimit } from "#lib/http/rate-limit.ts";
import type { SiteUuid } from "#lib/site.ts";
import { admitEvents, type Candidate } from "./admit.ts";
import { captureEvent, consentOf, requestFacts, scopesOf, visitorOf } from "./capture-event.ts";
import { takeChoice } from "./choice-room.ts";
import { countDrops, type DropReason } from "./count-drops.ts";
import { eventsPerRequestMax, type WireEvent, wireEvent } from "./event-shape.ts";
import { leadLimits } from "./lead-limits.ts";
import { type Batch, countedEvents, refusal } from "./read-batch.ts";
import { recordRefusals } from "./record-choice.ts";
import type { Admission } from "./share-admission.ts";
import { siteCeilings } from "./site-ceiling.ts";
import type { TrackerPage } from "./tracker-guard.ts";
import { dropReason } from "./tracker-guard.ts";
import { wakeWorker } from "./wake-worker.ts";

/** How long a client with a full plan waits before it asks again. */
const quotaRetrySeconds = 600;

/** Abuse, not billing: events by site and address. Open without Redis, since a lost lead is lost money. */
const bySiteAndAddress: RateLimit<TrackerPage & Batch> = {
  name: "sync",
  requests: 2000,
  windowSeconds: 60,
  key: ({ request, actor }) => `${actor.siteId}:${hashedAddress(request.headers)}`,
  units: ({ actor }) => countedEvents(actor),
  whenRedisIsDown: "fail-open",
};
/** Over all sites: whoever floods one after the other. Mobile networks put many visitors of many sites behind one address. */
const byAddress: RateLimit<TrackerPage & Batch> = {
  ...bySiteAndAddress,
  name: "sync-address",
  requests: 10_000,
  key: ({ request }) => hashedAddress(request.headers),
};
export const syncLimits = [bySiteAndAddress, byAddress, ...leadLimits, ...siteCeilings];

/** POST /api/sync after its page is known and within limits: validation, idempotency, quota, publish. */
export async function syncEvents(page: TrackerPage & Batch, request: Request): Promise<Response> {
  const { site, siteId, events, choice, trackerVersion } = page;
  if (choice) {
    await takeChoice(page, request);
    return answer(200, { ok: true, status: "consent" }, {});
  }
  if (events.length > eventsPerRequestMax) {
    const detail = `At most ${eventsPerRequestMax} events a request. Send them in several.`;
    return answer(
      413,
      { ok: false, error: "batch_limit_exceeded", code: "batch_limit_exceeded", detail },
      { "x-opsmantik-error-code": "batch_limit_exceeded" },
    );
  }
  const parsed = events.map((event) => wireEvent.safeParse(event));
  const valid = parsed.flatMap((result) => (result.success ? [result.data] : []));
  if (valid.length === 0) throw refusal("missing_site_or_url", "Each event needs the http(s) address of its page in u.");

  await recordRefusals(page, valid);
  const dropped = dropReason(site, request.headers);
  if (dropped) return drop(dropped, site.siteUuid, valid.length);
  const allowed = valid.filter((event) => hasAnalyticsConsent(event, site));
  if (allowed.length === 0) return drop("consent", site.siteUuid, valid.length);
  if (allowed.length < valid.length) await countDrops("consent", site.siteUuid, valid.length - allowed.length);

  const facts = requestFacts(request.headers, trackerVersion);
  const candidates: Candidate[] = allowed.map((event) => {
    const captured = captureEvent(event, site, facts);
    return { eid: captured.intentStamp ?? event.eid, label: event.wholeLabel, address: event.url, visitor: visitorOf(event), captured };
  });
  const admission = await admitEvents(site.siteUuid, candidates, Date.now());
  const captured = admission.results.some((result) => result === "accepted" || result === "enriched");
  const woken = captured ? await wakeWorker(siteId) : true;
  return admissionResponse(
    admission,
    parsed.map((result) => (!result.success ? "invalid" : hasAnalyticsConsent(result.data, site) ? "admitted" : "consent")),
    woken,
  );
}

/** Checked for each event: events from before the visitor agreed must not cost those after it. */
function hasAnalyticsConsent(event: WireEvent, site: TrackerPage["site"]): boolean {
  return consentOf(scopesOf(event), site.consentMode).analytics;
}

async function drop(reason: DropReason, siteUuid: SiteUuid, drops: number): Promise<Response> {
  await countDrops(reason, siteUuid, drops);
  return new Response(null, { status: 204, ...(reason === "consent" && { headers: { "x-opsmantik-consent-missing": "analytics" } }) });
}

/** One answer for the request, one result per event in the order they were sent. */
function admissionResponse({ results, overage }: Admission, sent: ("admitted" | "invalid" | "consent")[], woken: boolean): Response {
  const queue = [...results];
  const perEvent = sent.map((fate) => (fate === "admitted" ? queue.shift() : fate));
  if (results.every((result) => result === "quota")) {
    const headers = { "x-opsmantik-quota-exceeded": "1", "retry-after": String(quotaRetrySeconds) };
    return answer(429, { ok: false, error: "quota_exceeded", code: "quota_exceeded", results: perEvent }, headers);
  }
  const headers: Record<string, string> = {
    ...(overage && { "x-opsmantik-overage": "true" }),
    ...(!woken && { "x-opsmantik-fallback": "true" }),
  };
  const accepted = results.filter((result) => result === "accepted").length;
  if (accepted === 0)
    return answer(200, { ok: true, status: "duplicate", accepted, results: perEvent }, { ...headers, "x-opsmantik-dedup": "1" });
  return answer(200, { ok: true, status: woken ? "queued" : "degraded", accepted, results: perEvent }, headers);
}

function answer(status: number, body: Record<string, unknown>, headers: Record<string, string>): Response {
  return Response.json(body, { status, headers });
}
