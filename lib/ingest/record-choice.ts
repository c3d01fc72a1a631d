import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { retryDeadlocks } from "#lib/db/retry-deadlocks.ts";
import { forgetViewsOfVisitor } from "#lib/oci/page-view-queue.ts";
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

/** What a visitor chose, applied at once to everything that Google has not got. Never billed, and safe to repeat. */
export async function recordChoice({ site, publicId }: TrackerPage, choice: Choice): Promise<void> {
  const { visitor, scopes, page } = choice;
  const written = { ...choice, page: page && withoutClickIds(page) };
  await retryDeadlocks(() => callRpc("record_consent", { p_site_id: site.siteId, p_choice: written }, z.unknown()));
  if (scopes.includes("marketing")) return;
  // Without Redis they stay until the next export, which asks Postgres what each visitor last said.
  await forgetViewsOfVisitor(publicId, visitor).catch((error: unknown) => log.warn("page views not forgotten", { error }));
}

/** Events of visitors who allow nothing are not stored; what they say about consent is. The newest of each visitor counts. */
export async function recordRefusals(page: TrackerPage & { trackerVersion: number | null }, events: WireEvent[]): Promise<void> {
  const newest = new Map<string, WireEvent>();
  for (const event of events) {
    const visitor = visitorOf(event);
    if (visitor === null || (scopesOf(event)?.includes("analytics") ?? true)) continue;
    const known = newest.get(visitor);
    if (!known || event.t <= known.t) newest.set(visitor, event);
  }
  for (const [visitor, event] of newest) {
    const choice = { visitor, scopes: scopesOf(event) ?? [], ageMs: event.t, page: event.url, version: page.trackerVersion };
    await recordChoice(page, choice);
  }
}
