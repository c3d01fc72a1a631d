import { z } from "zod";
import { callRpc, retryDeadlocks } from "#lib/db/call-rpc.ts";
import { forgetViewsOf } from "#lib/oci/handout/page-views.ts";
import { log } from "#lib/platform/log.ts";
import { scopesOf, visitorOf } from "./capture-event.ts";
import type { WireEvent } from "./event-shape.ts";
import { storedAddress } from "./stored-address.ts";
import type { TrackerPage } from "./tracker-guard.ts";

interface Choice {
  visitor: string;
  scopes: string[];
  ageMs: number;
  page: string | null;
  version: number | null;
}

/** The refusals that this process stored last: a visitor who browses without marketing costs one call, not one per event. */
const knownRefusals = new Map<string, string>();
const rememberedMax = 10_000;

interface Taken {
  /** For a caller who has sent too many: only refusals of visitors of whom something is stored. */
  owedOnly?: boolean;
}

const recorded = z.object({ left: z.number() });

/**
 * Applies visitors' choices at once to everything that Google does not have, in one statement. Never billed, and safe to repeat. Returns
 * how many were not taken.
 */
export async function recordChoices({ site, siteId }: TrackerPage, choices: Choice[], { owedOnly = false }: Taken = {}): Promise<number> {
  for (const { visitor } of choices) knownRefusals.delete(`${siteId}/${visitor}`);
  const written = choices.map((choice) => ({ ...choice, page: choice.page && storedAddress(choice.page) }));
  const args = { p_site_id: site.siteUuid, p_choices: written, p_owed_only: owedOnly };
  const { left } = await retryDeadlocks(() => callRpc("record_consents", args, recorded));
  const refused = choices.flatMap(({ visitor, scopes }) => (scopes.includes("marketing") ? [] : [visitor]));
  // Without Redis they stay until the next export, which asks Postgres what each visitor last said.
  if (refused.length > 0) await forgetViewsOf(siteId, refused).catch((error: unknown) => log.warn("page views not forgotten", { error }));
  return left;
}

/**
 * Each event of a visitor without marketing consent repeats the refusal. It is applied at once, before the worker runs, also for events that
 * are then dropped or exceed the plan. The newest of each visitor counts.
 */
export async function recordRefusals(
  page: TrackerPage & { trackerVersion: number | null },
  events: WireEvent[],
  taken: Taken = {},
): Promise<void> {
  const newest = new Map<string, WireEvent>();
  for (const event of events) {
    const visitor = visitorOf(event);
    const known = visitor !== null && newest.get(visitor);
    if (visitor !== null && scopesOf(event) && (!known || event.t <= known.t)) newest.set(visitor, event);
  }
  const refusals = [...newest].flatMap(([visitor, event]) => {
    const scopes = scopesOf(event) ?? [];
    const key = `${page.siteId}/${visitor}`;
    const said = [...scopes].sort().join();
    if (knownRefusals.get(key) === said) return [];
    knownRefusals.delete(key);
    return scopes.includes("marketing") ? [] : [{ key, said, choice: { visitor, scopes, ageMs: event.t, page: event.url } }];
  });
  if (refusals.length === 0) return;
  const left = await recordChoices(
    page,
    refusals.map(({ choice }) => ({ ...choice, version: page.trackerVersion })),
    taken,
  );
  if (left > 0) return; // nobody says which
  if (knownRefusals.size + refusals.length > rememberedMax) knownRefusals.clear();
  for (const { key, said } of refusals) knownRefusals.set(key, said);
}
