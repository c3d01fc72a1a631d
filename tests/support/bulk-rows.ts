import type postgres from "postgres";

/**
 * Many waiting rows, copied from one sealed sale by insert … select. Sealing 100,000 leads one by one takes many minutes and would
 * tell nothing more: what is looked at here is how the queue reads its own table. Half of them wait for later, if asked.
 */
export async function copyRows(sql: postgres.Sql, saleId: string, rows: number, { halfDeferred = true } = {}): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`create temporary table copies on commit drop as
      select private.uuid_v7() as sale_id, private.uuid_v7() as snapshot_id, n from generate_series(1, ${rows}::int) n`;
    await tx`insert into public.sales (id, site_id, status, order_id, amount_cents, currency, value_source, occurred_at, gclid, clicked_at, created_at, updated_at)
      select c.sale_id, s.site_id, 'CONFIRMED', 'om_' || replace(c.sale_id::text, '-', ''), s.amount_cents, s.currency, s.value_source, s.occurred_at,
        s.gclid, s.clicked_at, s.created_at, s.updated_at from copies c, public.sales s where s.id = ${saleId}`;
    await tx`insert into public.revenue_snapshots (id, site_id, sale_id, sequence, kind, amount_cents, delta_cents, currency, value_source, actor_kind, created_at)
      select c.snapshot_id, r.site_id, c.sale_id, 1, 'SEAL', r.amount_cents, r.amount_cents, r.currency, r.value_source, 'system', r.created_at
      from copies c, public.revenue_snapshots r where r.sale_id = ${saleId} and r.sequence = 1`;
    await tx`insert into public.offline_conversion_queue (site_id, sale_id, status, order_id, snapshot_id, value_cents, currency, conversion_time,
        click_expires_at, not_before, next_retry_at, created_at, updated_at)
      select q.site_id, c.sale_id, case when c.n % 2 = 0 then 'QUEUED' else 'RETRY' end, 'om_' || replace(c.sale_id::text, '-', ''), c.snapshot_id,
        q.value_cents, q.currency, q.conversion_time, q.click_expires_at, q.not_before, case when c.n % 2 = 1 and ${halfDeferred} then q.created_at + interval '10 days' end,
        q.created_at + c.n * interval '1 millisecond', q.updated_at
      from copies c, public.offline_conversion_queue q where q.sale_id = ${saleId}`;
  });
  await sql`analyze public.offline_conversion_queue, public.sales, public.revenue_snapshots`;
}

/** Closed rows of a long history, ten seconds apart, one in twenty failed: copies of one delivered row that no count has seen. */
export async function copyHistory(sql: postgres.Sql, rowId: string, rows: number): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`insert into public.offline_conversion_queue (site_id, sale_id, status, order_id, snapshot_id, value_cents, currency, conversion_time,
        click_expires_at, not_before, uploaded_at, provider_error_code, provider_error_category, created_at, updated_at)
      select q.site_id, q.sale_id, case when n % 20 = 0 then 'FAILED' else 'COMPLETED' end, q.order_id, q.snapshot_id, q.value_cents, q.currency,
        q.conversion_time, q.click_expires_at, q.not_before, case when n % 20 > 0 then q.uploaded_at end, case when n % 20 = 0 then 'EXPIRED' end,
        case when n % 20 = 0 then 'VALIDATION' end, q.created_at + n * interval '10 seconds', q.updated_at
      from generate_series(1, ${rows}::int) n, public.offline_conversion_queue q where q.id = ${rowId}`;
  });
  await sql`analyze public.offline_conversion_queue`;
}
