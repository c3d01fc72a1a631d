import type { StormScene } from "./storm-scene.ts";

/** All that is known of what a problem is about, in the order it happened: for whoever looks for its cause. */
export async function tellStory({ stack }: StormScene, problem: string): Promise<string> {
  const [id] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(problem) ?? [];
  if (!id) return problem;
  const lines = await stack.sql()<{ at: Date; line: string }[]>`
    with sale as (select s.* from public.sales s where ${id} in (s.id::text, s.call_id::text)),
    rows as (select q.*, t.name as site from public.offline_conversion_queue q join public.sites t on t.id = q.site_id where q.sale_id in (select id from sale))
    select created_at as at, 'ledger ' || concat_ws(' ', kind, amount_cents, 'sale', right(sale_id::text, 4)) as line
      from public.revenue_snapshots where sale_id in (select id from sale)
    union all
    select t.created_at, concat_ws(' ', 'row', r.site, r.kind, right(r.id::text, 4), t.from_status, '->', t.to_status, t.reason, 'by', t.actor_kind,
      'attempt', t.attempt_count, t.provider_error_code, '#' || t.id) from public.queue_transitions t join rows r on r.id = t.queue_id
    union all
    select d.dispatched_at, concat_ws(' ', 'dispatch', d.kind, right(d.queue_id::text, 4), d.transport, d.value_cents, d.verdict, d.verdict_reason,
      d.provider_request_id, case when not d.is_certain then 'uncertain' end, 'verdict at', d.verdict_at) from public.provider_dispatches d where d.sale_id in (select id from sale)
    union all
    select a.created_at, concat_ws(' ', 'batch', a.phase, right(a.batch_id::text, 4), a.claimed_count, a.completed_count, a.retry_count, a.error_code, a.error_category)
      from public.provider_upload_attempts a where a.batch_id in (select unnest(claims) from rows)
    union all
    select updated_at, concat_ws(' ', 'is', kind, right(id::text, 4), status, value_cents, 'handed', handed_value_cents, case when handed_values_differ then 'differing' end,
      by_hand_reason, provider_error_code, last_error, 'not before', not_before) from rows
    union all
    select updated_at, concat_ws(' ', 'sale', right(id::text, 4), status, amount_cents, delivery_block, order_id) from sale
    union all
    select updated_at, concat_ws(' ', 'signal', dispatch_status, conversion_value, transport, provider_request_id, verdict, verdict_reason, last_error)
      from public.marketing_signals where id::text = ${id}
    order by 1`;
  const orders = new Set(lines.flatMap(({ line }) => /om_[0-9a-f]{32}/.exec(line) ?? []).concat(`signal_${id}`));
  const calls = (await stack.google.log()).flatMap(({ at, rows, method, isAnswered, fault, requestId, status }) =>
    rows
      .filter(({ orderId }) => orders.has(orderId ?? ""))
      .map(({ kind, value, outcome }) => ({
        at: new Date(at),
        line: `Google ${method} ${kind} ${value} ${outcome} ${status} ${isAnswered ? "" : "unanswered"} ${fault ?? ""} ${requestId}`,
      })),
  );
  const state = (await stack.google.conversions()).filter(({ orderId }) => orders.has(orderId ?? "")).map((found) => JSON.stringify(found));
  const all = [...lines, ...calls].toSorted((a, b) => a.at.getTime() - b.at.getTime());
  return [problem, ...all.map(({ at, line }) => `  ${at.toISOString().slice(5, 23)} ${line}`), ...state.map((text) => `  ${text}`)].join(
    "\n",
  );
}
