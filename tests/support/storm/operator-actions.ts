import type { QueueAction } from "#lib/oci/queue-types.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { act, undo } from "#tests/support/control.ts";
import { count, orRefused, type StormScene } from "./storm-scene.ts";
import type { StormSite } from "./storm-sites.ts";

/** What operators do on OCI Control and in Google's own pages. */

const statusesOf: Record<QueueAction, string[]> = {
  RETRY_SELECTED: ["FAILED", "RETRY"],
  RESET_TO_QUEUED: ["QUEUED", "RETRY", "PROCESSING", "FAILED"],
  MARK_FAILED: ["QUEUED", "RETRY", "PROCESSING"],
};

/** A few of the rows that the action is for, the newest first. */
async function rowsFor({ stack }: StormScene, { team }: StormSite, action: QueueAction, rows: number): Promise<string[]> {
  const found = await stack.sql()`
    select id from public.offline_conversion_queue where site_id = ${team.siteUuid} and status = any (${statusesOf[action]})
    order by updated_at desc, id desc limit ${rows}`;
  return found.map(({ id }) => String(id));
}

export async function actOnRows(scene: StormScene, site: StormSite, action: QueueAction): Promise<void> {
  const { stack, random } = scene;
  const ids = await rowsFor(scene, site, action, random.integer(1, 4));
  const takesBack = random.chance(0.15);
  if (ids.length === 0) return;
  const options = { team: site.team, at: stack.clock.now() };
  const done = await orRefused(scene, action, () => act(stack.sql(), { action, ids }, options));
  if (done && takesBack) await orRefused(scene, "UNDO", () => undo(stack.sql(), String(done.body.actionId), options));
}

/** Everything that failed is tried again, except rows skipped on purpose. */
export async function retryAll(scene: StormScene, { team }: StormSite): Promise<void> {
  const { stack } = scene;
  const failed = await stack.sql()`
    select id from public.offline_conversion_queue where site_id = ${team.siteUuid} and status = 'FAILED'
      and provider_error_category <> 'DETERMINISTIC_SKIP' order by id`;
  for (let start = 0; start < failed.length; start += 1000) {
    const action = { action: "RETRY_SELECTED" as const, ids: failed.slice(start, start + 1000).map(({ id }) => id) };
    await orRefused(scene, "RETRY_SELECTED", () => act(stack.sql(), action, { team, at: stack.clock.now() }));
  }
}

export async function sendAgain(scene: StormScene, { team }: StormSite): Promise<void> {
  const { stack } = scene;
  const [row] = await stack.sql()`
    select queue_id from public.provider_dispatches where site_id = ${team.siteUuid} and verdict = 'REJECTED' order by dispatched_at desc limit 1`;
  if (!row) return;
  await orRefused(scene, "sent again", () =>
    callAs(stack.sql(), team.operator, (tx) => tx`select public.send_again(${team.siteId}, ${row.queue_id})`, stack.clock.now()),
  );
}

/** A person makes in Google's own pages what no API makes, and says so. Gives how many are left: Google does not have those yet. */
export async function workByHand(scene: StormScene, { team, accounts }: StormSite, rowsMax: number): Promise<number> {
  const { stack } = scene;
  const rows = await stack.sql()`
    select q.id, q.kind, q.order_id, s.amount_cents::int, d.dispatched_at, d.verdict_reason = 'NEVER_ANSWERED' as is_assumed
    from public.offline_conversion_queue q
      join public.sales s on s.id = q.sale_id join public.sites t on t.id = q.site_id
      left join private.standing_dispatches d on d.sale_id = q.sale_id
    where q.site_id = ${team.siteUuid} and q.kind <> 'CONVERSION' and q.status in ('QUEUED', 'RETRY')
      and (q.by_hand_reason is not null or t.oci_sync_method = 'script')
    order by q.created_at, q.id limit ${rowsMax}`;
  // In Google Ads an order id is searched for, in whichever account and action it is.
  const places = new Map(rows.length === 0 ? [] : (await stack.google.conversions()).map((found) => [found.orderId, found]));
  let left = 0;
  const dayAgo = stack.clock.now().getTime() - 86_400_000;
  for (const { id, kind, order_id: orderId, amount_cents: valueCents, dispatched_at: sentAt, is_assumed: isAssumed } of rows) {
    const { customerId, actionId } = places.get(orderId) ?? { customerId: accounts[0], actionId: "1005" };
    const value = kind === "RETRACT" ? null : valueCents / 100;
    const { isFound } = await stack.google.admin("POST", "/by-hand", { customerId, actionId, orderId, value });
    // A conversion without an answer that Google does not have after a day never arrived.
    const isDone = isFound || (isAssumed && sentAt.getTime() < dayAgo);
    if (!isDone) left += 1;
    else
      await callAs(
        stack.sql(),
        team.operator,
        (tx) => tx`select public.complete_adjustment_by_hand(${team.siteId}, ${tx.json({ id, valueCents })})`,
        stack.clock.now(),
      );
    count(scene, isFound ? "done by hand" : "not found by hand");
  }
  return left;
}

/** Of conversions without a verdict, a person sends again those that Google does not have. */
export async function sendUnknownAgain(scene: StormScene, { team }: StormSite): Promise<void> {
  const { stack } = scene;
  const there = new Set((await stack.google.conversions()).map(({ orderId }) => orderId));
  const unknown = await stack.sql()`
    select d.queue_id, d.order_id from private.standing_dispatches d join public.sales s on s.id = d.sale_id and s.status = 'CONFIRMED'
    where d.site_id = ${team.siteUuid} and d.kind = 'CONVERSION' and d.verdict = 'UNKNOWN' and d.verdict_reason is distinct from 'NEVER_ANSWERED'`;
  for (const { queue_id: rowId } of unknown.filter(({ order_id: orderId }) => !there.has(orderId)))
    await orRefused(scene, "unknown sent again", () =>
      callAs(stack.sql(), team.operator, (tx) => tx`select public.send_again(${team.siteId}, ${rowId})`, stack.clock.now()),
    );
}
