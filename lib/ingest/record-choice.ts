import { z } from "zod";
import { callRpc, retryDeadlocks } from "#lib/db/call-rpc.ts";
import { forgetViewsOfVisitor } from "#lib/oci/handout/page-views.ts";
import { log } from "#lib/platform/log.ts";
import { scopesOf, visitorOf, withoutClickIds } from "./capture-event.ts";
import type { WireEvent } from "./event-shape.ts";
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

/** Applies a visitor's choice at once to everything that Google does not have. Never billed, and safe to repeat. */
export async function recordChoice({ site, siteId }: TrackerPage, choice: Choice): Promise<void> {
  const { visitor, scopes, page } = choice;
  knownRefusals.delete(`${siteId}/${visitor}`);
  const written = { ...choice, page: page && withoutClickIds(page) };
  await retryDeadlocks(() => callRpc("record_consent", { p_site_id: site.siteUuid, p_choice: written }, z.unknown()));
  if (scopes.includes("marketing")) return;
  // Without Redis they stay until the next export, which asks Postgres what each visitor last said.
  await forgetViewsOfVisitor(siteId, visitor).catch((error: unknown) => log.warn("page views not forgotten", { error }));
}

/**
 * Each event of a visitor without marketing consent repeats the refusal. It is applied at once, before the worker runs, also for events that
 * are then dropped or exceed the plan. The newest of each visitor counts.
 */
export async function recordRefusals(page: TrackerPage & { trackerVersion: number | null }, events: WireEvent[]): Promise<void> {
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
  for (const { key, said, choice } of refusals) {
    await recordChoice(page, { ...choice, version: page.trackerVersion });
    if (knownRefusals.size >= rememberedMax) knownRefusals.clear();
    knownRefusals.set(key, said);
  }
}
