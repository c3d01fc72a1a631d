import type postgres from "postgres";
import { type Sealed, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import type { Team } from "#tests/fixtures/team.ts";

const filled = ["public.calls", "public.sales", "private.queue_open", "private.queue_delivered"];

/** Runs with the tables' plain indexes away and makes them again: building one at the end is ten times faster than row by row. */
export async function withoutIndexes(sql: postgres.Sql, tables: string[], work: () => Promise<unknown>): Promise<void> {
  const indexes = await sql<{ name: string; definition: string }[]>`
    select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition from pg_index i join pg_class t on t.oid = i.indrelid
    where t.oid = any (${tables}::text[]::regclass[])
      and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`;
  for (const { name } of indexes) await sql.unsafe(`drop index ${name}`);
  await work();
  for (const { definition } of indexes) await sql.unsafe(`set maintenance_work_mem = '512MB'; ${definition}`);
}

/**
 * A site with this many rows on its queue. A million seals take hours, so all but the first are copies of it, written without triggers; the
 * counts are then made by the same reconciliation that runs each night. Shares are those of a site in trouble: 5 % failed, 3 % waiting.
 */
export async function fillQueue(sql: postgres.Sql, rows: number): Promise<Team> {
  const team = await createQueueTeam(sql, "bench");
  const pattern = await sealLead(sql, team, { at: new Date(), step: { phone: "+905371115218" } });
  await withoutIndexes(sql, filled, () => copySeal(sql, pattern, rows));
  for (const table of filled) await sql.unsafe(`vacuum analyze ${table}`);
  await sql`insert into private.queue_outcomes
    select q.site_id, date_bin('15 minutes', q.updated_at, timestamptz '2000-01-01 00:00:00+00'), q.status, coalesce(q.provider_error_code, ''), count(*)
    from public.offline_conversion_queue q where q.status in ('COMPLETED', 'FAILED', 'RETRY') group by 1, 2, 3, 4`;
  for (let more = true; more; ) {
    const [step] = await sql`select public.reconcile_queue_counts(50000) as answer`;
    more = step?.answer.more;
  }
  return team;
}

async function copySeal(sql: postgres.Sql, pattern: Sealed, rows: number): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`set local work_mem = '256MB'`;
    await tx`create temporary table made on commit drop as
      select n, private.uuid_v7() as call_id, private.uuid_v7() as sale_id, private.uuid_v7() as queue_id, random() as share, random() as luck,
        now() - (${rows} - n) * interval '90 days' / ${rows} as at
      from generate_series(1, ${rows}) n`;
    await tx`insert into public.calls (id, site_id, visitor_id, reported_by, intent_stamp, channel, phone, status, version, gclid, clicked_at, marketing_consent, lead_score,
          score_breakdown, called_at, created_at, updated_at)
      select m.call_id, c.site_id, m.call_id::text, c.reported_by, m.call_id::text, case when m.luck < 0.8 then 'phone' when m.luck < 0.998 then 'whatsapp' else 'form' end,
        '+90' || (5000000000 + floor(random() * 999999999))::bigint, c.status, c.version, 'Cj0K' || m.call_id, m.at, c.marketing_consent, c.lead_score,
        c.score_breakdown, m.at, m.at, m.at
      from made m, public.calls c where c.id = ${pattern.callId}`;
    await tx`insert into public.sales (id, site_id, call_id, status, version, order_id, amount_cents, currency, value_source, occurred_at, gclid, clicked_at,
          created_at, updated_at)
      select m.sale_id, s.site_id, m.call_id, s.status, s.version, 'om_' || replace(m.sale_id::text, '-', ''), s.amount_cents, s.currency, s.value_source,
        m.at, 'Cj0K' || m.call_id, m.at, m.at, m.at
      from made m, public.sales s where s.id = ${pattern.saleId}`;
    await tx`insert into public.offline_conversion_queue (id, site_id, sale_id, call_id, kind, state, status, tries, order_id, snapshot_id, value_cents, currency,
          conversion_time, click_expires_at, not_before, next_retry_at, attempt_count, claimed_at, claim_token, last_error, provider_error_code,
          provider_error_category, provider_request_id, uploaded_at, transport, created_at, updated_at, channel, conversion_name)
      select m.queue_id, q.site_id, m.sale_id, m.call_id, case when m.luck > 0.999 then 'RETRACT' when m.luck > 0.99 then 'RESTATE' else 'CONVERSION' end,
        case m.status when 'PROCESSING' then 'RETRY' else m.status end, m.status,
        m.attempts - (m.status = 'PROCESSING')::int, 'om_' || replace(m.sale_id::text, '-', ''), q.snapshot_id, case when m.luck > 0.999 then 0 else 100 + floor(power(random(), 4) * 5000000)::bigint end,
        q.currency, m.at, m.at + interval '90 days', m.at + case when m.luck < 0.1 then interval '91 days' else interval '0' end,
        case when m.status = 'RETRY' then now() + random() * interval '1 hour' end,
        m.attempts,
        case when m.status = 'PROCESSING' then now() - random() * interval '20 minutes' end, case when m.status = 'PROCESSING' then gen_random_uuid() end,
        case when m.status in ('FAILED', 'RETRY') then 'words' end,
        case when m.status in ('FAILED', 'RETRY') then (array['INTERNAL_ERROR','MAX_ATTEMPTS','UNPARSEABLE_GCLID','EXPIRED_EVENT','CLICK_EXPIRED','MANUAL_FAIL',
          'NO_CONVERSION_ACTION_FOUND','RARE'])[1 + floor(power(random(), 3) * 8)] end,
        case when m.status = 'FAILED' then (array['PERMANENT','VALIDATION','TRANSIENT','AUTH'])[1 + floor(power(random(), 3) * 4)]
             when m.status = 'RETRY' then 'TRANSIENT' end,
        case when m.status = 'COMPLETED' then 'req_' || m.n end, case when m.status = 'COMPLETED' then m.at + interval '10 minutes' end,
        case when m.status = 'COMPLETED' then 'script' end, m.at, least(m.at + random() * interval '6 hours', now()), case when m.luck < 0.8 then 'phone' when m.luck < 0.998 then 'whatsapp' else 'form' end,
        'OpsMantik_V5_DEMIR_MUHUR'
      from (select y.*, case when y.status = 'QUEUED' then 0 else 1 + floor(power(random(), 6) * 5)::int end as attempts
        from (select x.*, case when x.share < 0.92 then 'COMPLETED' when x.share < 0.97 then 'FAILED' when x.share < 0.98 then 'RETRY'
              when x.share < 0.999 then 'QUEUED' else 'PROCESSING' end as status from made x) y) m, public.offline_conversion_queue q
      where q.id = ${pattern.id}`;
    await tx`insert into private.queue_leases select claim_token, site_id, claimed_at, array[id] from private.queue_open where claim_token is not null`;
  });
}
