import type postgres from "postgres";
import type { SiteUuid } from "#lib/site.ts";

/** A sale as our books have it. */
export interface BookedSale {
  id: string;
  orderId: string;
  callId: string;
  siteUuid: SiteUuid;
  status: "CONFIRMED" | "CANCELED";
  amountCents: number;
  block: string | null;
  /** How often anything of it was handed out, and how often Google's acceptance was recorded. */
  claims: number;
  dispatches: number;
  /** Hand-outs whose answer never came or said nothing of the row (killed, timed out, lease run out), or that a person took from their worker. */
  unanswered: number;
}

export const readSales = (sql: postgres.Sql) => sql<BookedSale[]>`
  with rows as (select q.sale_id, sum(q.attempt_count)::int as claims from public.offline_conversion_queue q group by 1),
  tokens as (
    select q.sale_id, count(*) filter (where f.batch_id is null or f.error_code = 'WORKER_LOST' or f.error_category = 'TRANSIENT')::int as unanswered
    from public.offline_conversion_queue q cross join lateral unnest(q.claims) c (token)
      left join public.provider_upload_attempts f on f.batch_id = c.token and f.phase = 'FINISHED'
    group by 1),
  taken as (
    select q.sale_id, count(*)::int as rows from public.queue_transitions x join public.offline_conversion_queue q on q.id = x.queue_id
    where x.from_status = 'PROCESSING' and x.actor_kind = 'user' group by 1),
  told as (select d.sale_id, count(*)::int as rows from public.provider_dispatches d where d.transport <> 'by_hand' group by 1)
  select s.id, s.order_id as "orderId", s.call_id as "callId", s.site_id as "siteUuid", s.status, s.amount_cents::int as "amountCents",
    s.delivery_block as block, coalesce(r.claims, 0)::int as claims, coalesce(t.unanswered, 0) + coalesce(k.rows, 0) as unanswered,
    coalesce(d.rows, 0) as dispatches
  from public.sales s left join rows r on r.sale_id = s.id left join tokens t on t.sale_id = s.id left join taken k on k.sale_id = s.id
    left join told d on d.sale_id = s.id`;

export interface BookedSignal {
  orderId: string;
  status: string;
  value: number;
  attempts: number;
  verdict: string | null;
}

export const readSignals = (sql: postgres.Sql) => sql<BookedSignal[]>`
  select order_id as "orderId", dispatch_status as status, conversion_value::int as value, attempt_count as attempts, verdict
  from public.marketing_signals`;

/** Hand-outs of conversions, in the order of the queue's transitions. */
export const readClaims = (sql: postgres.Sql) => sql<{ saleId: string; siteUuid: SiteUuid; mark: number; at: Date }[]>`
  select q.sale_id as "saleId", q.site_id as "siteUuid", t.id::int as mark, t.created_at as at from public.queue_transitions t join public.offline_conversion_queue q on q.id = t.queue_id
  where q.kind = 'CONVERSION' and t.to_status = 'PROCESSING' and t.reason in ('WORKER_CLAIM', 'SCRIPT_EXPORT') order by t.id`;

/** What must be 0 when everything has ended. Deferrals have no attempt and are in no total. */
export async function readLeftovers(sql: postgres.Sql): Promise<Record<string, number>> {
  const [left] = await sql<Record<string, number>[]>`
    select (select count(*)::int from public.offline_conversion_queue where status = 'PROCESSING') as "stuck rows",
      (select count(*)::int from public.marketing_signals where dispatch_status = 'PROCESSING') as "stuck signals",
      (select count(*)::int from private.open_upload_batches) as "open batches",
      (select count(*)::int from (select batch_id from public.provider_upload_attempts group by 1 having count(*) <> 2) b) as "unpaired ledger lines",
      (select count(*)::int from public.provider_upload_metrics m where m.attempts_total <> (
        select coalesce(sum(f.completed_count + f.failed_count + f.retry_count), 0) from public.provider_upload_attempts f
        where f.site_id = m.site_id and f.phase = 'FINISHED' and f.error_code is distinct from 'CIRCUIT_OPEN'
          and f.error_code is distinct from 'CONCURRENCY_LIMIT')) as "sites whose totals differ from their attempts",
      (select count(*)::int from public.offline_conversion_queue q left join (
          select t.queue_id, count(*) as claims from public.queue_transitions t
          where t.to_status = 'PROCESSING' and t.reason in ('WORKER_CLAIM', 'SCRIPT_EXPORT') group by 1) c on c.queue_id = q.id
        where q.attempt_count <> coalesce(c.claims, 0)) as "rows with miscounted attempts",
      (select count(*)::int from public.provider_health_state where state = 'HALF_OPEN') as "half open circuits",
      (select count(*)::int from public.provider_requests where finished_at is null) as "requests without a verdict",
      (select count(*)::int from public.provider_dispatches where transport = 'data_manager' and verdict is null) as "dispatches without a verdict"`;
  return left ?? {};
}

export interface WorkItem {
  site: string;
  kind: string;
  status: string;
  cause: string;
  rows: number;
  /** One of them. */
  saleId: string;
}

/** What only a person can bring on: rows that failed, wait for a hand, wait for such a row, or were rejected for good. */
export const readWork = (sql: postgres.Sql) => sql<WorkItem[]>`
  select t.name as site, q.kind, q.status, count(*)::int as rows, min(q.sale_id::text) as "saleId",
    coalesce(case when d.verdict = 'REJECTED' then 'REJECTED ' || d.verdict_reason end, q.by_hand_reason,
      case when exists (select from private.held_sales h where q.kind = 'CONVERSION' and h.sale_id = q.sale_id) then 'HELD'
        when q.status in ('QUEUED', 'RETRY') and t.oci_sync_method = 'script' and q.kind <> 'CONVERSION' then 'SENT_BY_SCRIPT' end,
      q.provider_error_code, 'none') as cause
  from public.offline_conversion_queue q join public.sites t on t.id = q.site_id
    left join lateral (select x.verdict, x.verdict_reason from public.provider_dispatches x
      where x.sale_id = q.sale_id and x.queue_id = q.id order by x.dispatched_at desc, x.id desc limit 1) d on true
  where (q.status in ('QUEUED', 'RETRY') or d.verdict = 'REJECTED' or (q.status = 'FAILED' and q.provider_error_category <> 'DETERMINISTIC_SKIP'))
    -- The sale still needs it, and no newer row is there for it.
    and exists (select from public.sales s where s.id = q.sale_id and s.delivery_block is null and (s.status = 'CANCELED') = (q.kind = 'RETRACT'))
    and not exists (select from public.offline_conversion_queue n where n.sale_id = q.sale_id and n.kind = q.kind and n.id > q.id)
  group by 1, 2, 3, 6 order by 1, 2, 3, 6`;

/** Why something may be left to a person after everything that works by itself has worked. */
export const causes: Record<string, string> = {
  MANUAL_FAIL: "an operator gave it up",
  MAX_ATTEMPTS: "five hand-outs were killed, timed out or failed",
  EVENT_NOT_FOUND: "Google does not know the click",
  "REJECTED CLICK_NOT_FOUND": "Google does not know the click",
  "REJECTED INTERNAL_ERROR": "Google rejected it five times",
  NO_ADS_API_ACCESS: "the account lets no API adjust it",
  WBRAID_ONLY: "Google adjusts nothing that only a wbraid leads to",
  OTHER_ACCOUNT: "an account of before has it",
  SENT_BY_SCRIPT: "a script cannot adjust",
  HELD: "the lead's earlier sale is taken back first, which waits for a person",
};
