import { isLeadAction } from "#lib/channels.ts";
import type { RateLimit } from "#lib/http/rate-limit.ts";
import { eventsPerRequestMax, nameOf } from "./event-shape.ts";
import { type Batch, countedEvents } from "./read-batch.ts";
import { hashedRange } from "./request-origin.ts";
import { retryAfterMaxSeconds, turnAway } from "./site-ceiling.ts";
import type { TrackerPage } from "./tracker-guard.ts";

function isLead(event: unknown): boolean {
  if (typeof event !== "object" || event === null || !("ec" in event && "ea" in event)) return false;
  return nameOf(event.ec) === "conversion" && isLeadAction(nameOf(event.ea));
}

/** Events that the gate would take for leads. A batch that is too large is refused as a whole and has none. */
const leadsIn = ({ events }: Batch) => (events.length > eventsPerRequestMax ? 0 : events.filter(isLead).length);

/**
 * Leads of one site and address range. Nothing signs what a tracker reports, so one machine could fill an operator's desk. `part` is of the
 * site's daily ceiling, which is five times a usual busiest day: one range meets it when its leads are an eighth of all events of such a day.
 */
const leadLimit = (
  name: string,
  windowSeconds: number,
  { part, atLeast }: { part: number; atLeast: number },
): RateLimit<TrackerPage & Batch> => ({
  name,
  windowSeconds,
  requests: ({ actor }) => Math.max(atLeast, Math.floor(actor.site.ceilings.dayMax / part)),
  // Most requests have no lead and are spared the range.
  key: ({ request, actor }) => (leadsIn(actor) === 0 ? actor.siteId : `${actor.siteId}:${hashedRange(request.headers)}`),
  units: ({ actor }) => leadsIn(actor),
  whenRedisIsDown: "fail-open",
  retryAfterMaxSeconds,
  refused: (input) => turnAway(input, countedEvents(input.actor)), // the whole batch waits
});

export const leadLimits = [
  leadLimit("leads-hour", 3_600, { part: 200, atLeast: 100 }),
  leadLimit("leads-day", 86_400, { part: 40, atLeast: 240 }),
];
