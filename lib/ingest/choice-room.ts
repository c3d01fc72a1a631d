import { fitsInto, type RateLimit } from "#lib/http/rate-limit.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { type Batch, countedEvents } from "./read-batch.ts";
import { recordChoices } from "./record-choice.ts";
import { hashedRange } from "./request-origin.ts";
import type { TrackerPage } from "./tracker-guard.ts";

const retryAfterSeconds = 900;

/**
 * Choices that one address range writes for one site a day. They are under no ceiling and never billed, and each is a row. `dayMax` is five
 * times a usual busiest day, so a range meets this when it makes half of all choices that such a day can have.
 */
const choicesOfRange: RateLimit<TrackerPage & Batch> = {
  name: "choices-day",
  windowSeconds: 86_400,
  requests: ({ actor }) => Math.max(2_500, Math.floor(actor.site.ceilings.dayMax / 10)),
  key: ({ request, actor }) => `${actor.siteId}:${hashedRange(request.headers)}`,
  units: ({ actor }) => countedEvents(actor),
  whenRedisIsDown: "fail-open",
};

export const hasChoiceRoom = (input: { request: Request; actor: TrackerPage & Batch }) => fitsInto(choicesOfRange, input);

/**
 * Records what one visitor chose. Above its range's room only the refusal of a visitor of whom something is stored is taken, so that a
 * stranger fills no table and yet keeps nobody from withdrawing; other choices are asked for again later.
 */
export async function takeChoice(page: TrackerPage & Batch, request: Request): Promise<void> {
  if (!page.choice) return;
  const { fp: visitor, consent_scopes, t: ageMs, u = null } = page.choice;
  const owedOnly = !(await hasChoiceRoom({ request, actor: page }));
  const choice = { visitor, scopes: consent_scopes, ageMs, page: u, version: page.trackerVersion };
  const left = await recordChoices(page, [choice], { owedOnly });
  if (left === 0) return;
  throw new AppError("RATE_LIMITED", {
    detail: `Too many choices came from this network today. Try again in ${retryAfterSeconds} s.`,
    extra: { retryAfterSeconds },
    headers: { "retry-after": String(retryAfterSeconds), "x-opsmantik-ratelimit": "1" },
  });
}
