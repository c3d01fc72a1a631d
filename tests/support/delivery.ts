import type postgres from "postgres";

/**
 * Sends and answers: the site's script for conversions, by the product's own functions. Adjustments are moved
 * here as a worker moves them, because over a script a person makes them, and then nothing is ever in flight.
 */

/** QUEUED/RETRY -> PROCESSING with the newest value, unless the sale was cancelled. Gives the row's id, or null when none waited. */
export async function claim(sql: postgres.Sql, saleId: string, at = new Date()): Promise<string | null> {
  return await sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${at.toISOString()}, true), private.act(('system', null)::private.actor, 'CLAIM')`;
    const [exported] = await tx<{ id: string | null }[]>`
      select public.claim_offline_conversion_rows_for_script_export(array_agg(q.id), q.site_id, 1000) #>> '{rows,0,id}' as id
      from public.offline_conversion_queue q where q.sale_id = ${saleId} and q.kind = 'CONVERSION' group by q.site_id`;
    if (exported?.id) return exported.id;
    const [row] = await tx<{ id: string }[]>`
      with claimed as (update public.offline_conversion_queue q
      set status = 'PROCESSING', claimed_at = ${at}, claim_token = gen_random_uuid(), attempt_count = q.attempt_count + 1, snapshot_id = r.id, value_cents = r.amount_cents
      from public.sales s, private.newest_snapshot(${saleId}) r
      where q.sale_id = ${saleId} and s.id = q.sale_id and q.kind <> 'CONVERSION' and q.status in ('QUEUED', 'RETRY')
        and (s.status = 'CONFIRMED') = (q.kind <> 'RETRACT') and q.not_before <= ${at}
      returning q.id, q.site_id, q.claim_token)
      insert into private.queue_leases select c.claim_token, c.site_id, ${at}, array[c.id] from claimed c returning row_ids[1] as id`;
    return row?.id ?? null;
  });
}

/** PROCESSING -> COMPLETED: what was claimed is what was sent; the ledger may have changed since. */
export async function succeed(sql: postgres.Sql, queueId: string, at = new Date()): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${at.toISOString()}, true), private.act(('system', null)::private.actor, 'UPLOADED')`;
    const [row] = await tx`select kind, site_id from public.offline_conversion_queue where id = ${queueId}`;
    if (row?.kind === "CONVERSION") return void (await tx`select public.ack_offline_conversions(${row.site_id}, ${[queueId]}::uuid[])`);
    await tx`select from public.sales s join public.offline_conversion_queue q on q.sale_id = s.id where q.id = ${queueId} for update of s`;
    await tx`select private.complete_rows(${row?.site_id}, ${tx.json([{ id: queueId }])}, 'script')`;
  });
}

/** PROCESSING -> RETRY: without an answer it is tried again. */
export async function retryLater(sql: postgres.Sql, queueId: string, at = new Date()): Promise<void> {
  await sql`update public.offline_conversion_queue set state = 'RETRY', status = 'RETRY', tries = attempt_count, claimed_at = null, claim_token = null,
    is_plain = false, updated_at = ${at}
    where id = ${queueId}`;
}
