import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { hashedAddress } from "#lib/http/caller-address.ts";
import { fitsInto, type RateLimit } from "#lib/http/rate-limit.ts";
import { log } from "#lib/platform/log.ts";
import type { SiteUuid } from "#lib/site.ts";
import { hasChoiceRoom } from "./choice-room.ts";
import { countDrops } from "./count-drops.ts";
import { eventsPerRequestMax, wireEvent } from "./event-shape.ts";
import { type Batch, countedEvents } from "./read-batch.ts";
import { recordRefusals } from "./record-choice.ts";
import type { TrackerPage } from "./tracker-guard.ts";

/** After this long a tracker asks again, though the day is not over: an owner may have raised the ceiling. */
export const retryAfterMaxSeconds = 900;

/** A flood of invented visitors who refuse must not cost more above the ceiling than below it. The tracker sends its event again, with the refusal. */
const refusalsAboveCeiling: RateLimit<TrackerPage & Batch> = {
  name: "ceiling-refusals",
  requests: 300,
  windowSeconds: 60,
  key: ({ request, actor }) => `${actor.siteId}:${hashedAddress(request.headers)}`,
  units: ({ actor }) => countedEvents(actor),
  whenRedisIsDown: "fail-open",
};

const ceiling = (name: string, windowSeconds: number, max: "minuteMax" | "dayMax"): RateLimit<TrackerPage & Batch> => ({
  name,
  windowSeconds,
  requests: ({ actor }) => actor.site.ceilings[max],
  key: ({ actor }) => actor.siteId,
  // A visitor's choice is never turned away for what others send.
  units: ({ actor }) => (actor.choice ? 0 : countedEvents(actor)),
  whenRedisIsDown: "fail-open",
  retryAfterMaxSeconds,
  refused: turnAway,
});

/** Counts for the owner, by the day, what was turned away, and keeps what its visitors refused. */
export async function turnAway(input: { request: Request; actor: TrackerPage & Batch }, events: number): Promise<void> {
  const { actor } = input;
  countTurnedAway(actor.site.siteUuid, events);
  if (!(await fitsInto(refusalsAboveCeiling, input))) return;
  const owedOnly = !(await hasChoiceRoom(input));
  await recordRefusals(actor, refusingEvents(actor), { owedOnly }).catch((error: unknown) => log.warn("refusals not recorded", { error }));
}

/** A refusal that an event carries does not wait for the event's turn. */
const refusingEvents = ({ events }: Batch) =>
  events.slice(0, eventsPerRequestMax).flatMap((event) => wireEvent.safeParse(event).data ?? []);

/** However many addresses a flood comes from: what it can cost a site is bounded by what the site usually sends. */
export const siteCeilings = [ceiling("site-minute", 60, "minuteMax"), ceiling("site-day", 86_400, "dayMax")];

/** Refusals are written down together: a flood must not write a row for each of its requests. */
const writeAfterMs = 2_000;
const turnedAway = new Map<SiteUuid, number>();

function countTurnedAway(siteUuid: SiteUuid, events: number): void {
  if (turnedAway.size === 0) setTimeout(writeTurnedAway, writeAfterMs).unref();
  turnedAway.set(siteUuid, (turnedAway.get(siteUuid) ?? 0) + events);
}

async function writeTurnedAway(): Promise<void> {
  const counts = [...turnedAway];
  turnedAway.clear();
  for (const [siteUuid, events] of counts) await countDrops("ceiling", siteUuid, events);
}

const noted = z.object({ noted: z.number() });
const sitesAtOnce = 500;

/** In bounded statements, until every site has its yesterday. */
export async function noteBusyDays(): Promise<{ noted: number }> {
  let sum = 0;
  for (let round = 0; round < 20; round++) {
    const { noted: sites } = await callRpc("note_busy_days", { p_limit: sitesAtOnce }, noted);
    sum += sites;
    if (sites < sitesAtOnce) break;
  }
  log.info("busy days noted", { sites: sum });
  return { noted: sum };
}
