import type postgres from "postgres";
import type { QueueAction } from "#lib/oci/queue-types.ts";
import type { Team } from "#tests/fixtures/team.ts";

/** Why a row stays; null when it may move. */
export type Why = string | null;

/** The facts that the rules use, read without them. */
export interface Facts {
  id: string;
  kind: string;
  status: string;
  sync: string;
  by_hand_reason: string | null;
  sale: string;
  is_over: boolean;
  has_open_row: boolean;
  is_followed: boolean;
}
export const readFacts = (sql: postgres.Sql | postgres.TransactionSql, team: Team, at: Date) => sql<Facts[]>`
  select q.id, q.kind, q.status, t.oci_sync_method as sync, q.by_hand_reason, s.status as sale,
    q.provider_error_code is not null and q.provider_error_code in ('SUPERSEDED', 'NO_CONSENT', 'NEVER_ARRIVED')
      or s.delivery_block is not null or q.kind = 'CONVERSION' and s.gclid is null
      or q.kind <> 'CONVERSION' and s.occurred_at + interval '54 days' <= ${at} as is_over,
    exists (select from public.offline_conversion_queue o where o.sale_id = q.sale_id and o.kind = q.kind
      and o.status in ('QUEUED', 'RETRY', 'PROCESSING')) as has_open_row,
    exists (select from public.sales o where o.call_id = s.call_id and o.id <> s.id and o.status = 'CONFIRMED') as is_followed
  from public.offline_conversion_queue q join public.sales s on s.id = q.sale_id join public.sites t on t.id = q.site_id
  where q.site_id = ${team.siteUuid}`;

const takes: Record<QueueAction, string[]> = {
  RETRY_SELECTED: ["FAILED", "RETRY"],
  RESET_TO_QUEUED: ["QUEUED", "RETRY", "PROCESSING", "FAILED"],
  MARK_FAILED: ["QUEUED", "RETRY", "PROCESSING"],
};

/** The rules as docs/api/oci-control.md states them. None of these scenes was given up and delivered by another row. */
export function expected(row: Facts, action: QueueAction): Why {
  if (!takes[action].includes(row.status)) return "ILLEGAL_MOVE";
  if (action === "MARK_FAILED") return row.kind === "RETRACT" && row.is_followed ? "ILLEGAL_MOVE" : null;
  const why = whyNotOpen(row);
  if (why !== null && why !== "ALREADY_QUEUED") return why;
  const waits = row.kind !== "CONVERSION" && (row.status === "QUEUED" || row.status === "RETRY");
  return waits && (row.sync === "script" || row.by_hand_reason) ? "BY_HAND" : why;
}

/** Why a row may not be open, whoever opens it. */
export function whyNotOpen(row: Facts): Why {
  if (row.sale === "CANCELED" && row.kind !== "RETRACT") return "SALE_CANCELLED";
  if (row.is_over || (row.kind === "RETRACT" && row.sale !== "CANCELED")) return "ILLEGAL_MOVE";
  return row.status === "FAILED" && row.has_open_row ? "ALREADY_QUEUED" : null;
}
