-- Counts: how many rows of the queue are in which state, and what they are worth, without counting a million rows.
-- Every statement that changes the queue appends what it changed; the sum of all is exact at any moment and in any snapshot, and
-- no two writers meet in one row. A cron folds the appended lines into the base.

create table private.queue_counts (
  site_id uuid not null,
  provider_key text not null,
  status text not null,
  currency text not null,
  code text not null,                              -- of FAILED rows; '' for the others
  category text not null,
  row_count bigint not null,
  value_cents numeric not null,
  primary key (site_id, provider_key, status, currency, code, category)
);
create table private.queue_count_deltas (
  site_id uuid not null,
  provider_key text not null,
  status text not null,
  currency text not null,
  code text not null,
  category text not null,
  row_count bigint not null,
  value_cents numeric not null,
  hour timestamptz not null                        -- in which the rows were created
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index deltas_of_a_site on private.queue_count_deltas (site_id, hour);

-- What became of rows, by quarter of an hour: every time zone's days begin at one.
create table private.queue_outcomes (
  site_id uuid not null,
  quarter timestamptz not null,
  outcome text not null,                           -- COMPLETED, FAILED or RETRY
  code text not null,                              -- of FAILED; '' for the others
  row_count bigint not null,
  primary key (site_id, quarter, outcome, code)
);
create table private.queue_outcome_deltas (
  site_id uuid not null,
  quarter timestamptz not null,
  outcome text not null,
  code text not null,
  row_count bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index outcome_deltas_of_a_site on private.queue_outcome_deltas (site_id);
alter table private.queue_outcomes enable row level security;
alter table private.queue_outcome_deltas enable row level security;
alter table private.queue_counts enable row level security;
alter table private.queue_count_deltas enable row level security;

create function private.count_new_queue_rows() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into private.queue_count_deltas
    select n.site_id, n.provider_key, n.status, n.currency, case n.status when 'FAILED' then n.provider_error_code else '' end,
      case n.status when 'FAILED' then n.provider_error_category else '' end, count(*),
      sum(n.value_cents), date_trunc('hour', n.created_at, 'UTC')
    from after_rows n group by 1, 2, 3, 4, 5, 6, 9;
  return null;
end
$$;

create function private.count_changed_queue_rows() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into private.queue_count_deltas
    select d.site_id, d.provider_key, d.status, d.currency, case d.status when 'FAILED' then d.provider_error_code else '' end,
      case d.status when 'FAILED' then d.provider_error_category else '' end, sum(d.n),
      sum(d.n * d.value_cents), date_trunc('hour', d.created_at, 'UTC')
    from (select 1 as n, a.site_id, a.provider_key, a.status, a.currency, a.provider_error_code,
            a.provider_error_category, a.value_cents, a.created_at from after_rows a
          union all
          select -1, b.site_id, b.provider_key, b.status, b.currency, b.provider_error_code,
            b.provider_error_category, b.value_cents, b.created_at from before_rows b) d
    group by 1, 2, 3, 4, 5, 6, 9
    having sum(d.n) <> 0 or sum(d.n * d.value_cents) <> 0;
  insert into private.queue_outcome_deltas
    select a.site_id, date_bin('15 minutes', a.updated_at, timestamptz '2000-01-01 00:00:00+00'), a.status,
      case a.status when 'FAILED' then a.provider_error_code else '' end, count(*)
    from after_rows a join before_rows b on b.id = a.id
    where a.status in ('COMPLETED', 'FAILED', 'RETRY') and a.status <> b.status group by 1, 2, 3, 4;
  return null;
end
$$;
create trigger new_rows_are_counted after insert on public.offline_conversion_queue
  referencing new table as after_rows for each statement execute function private.count_new_queue_rows();
create trigger changes_are_counted after update on public.offline_conversion_queue
  referencing old table as before_rows new table as after_rows for each statement execute function private.count_changed_queue_rows();

-- queue_totals: the lines of some sites, summed. One statement, so base and appended lines are of the same moment.
create function private.queue_totals(p_site_ids uuid[])
returns table (provider_key text, status text, currency text, code text, category text, row_count bigint, value_cents bigint)
language sql stable security definer set search_path = ''
as $$
  select t.provider_key, t.status, t.currency, t.code, t.category, sum(t.row_count)::bigint, sum(t.value_cents)::bigint
  from (select c.provider_key, c.status, c.currency, c.code, c.category, c.row_count, c.value_cents
        from private.queue_counts c where c.site_id = any (p_site_ids)
        union all
        select d.provider_key, d.status, d.currency, d.code, d.category, d.row_count, d.value_cents
        from private.queue_count_deltas d where d.site_id = any (p_site_ids)) t
  group by 1, 2, 3, 4, 5 having sum(t.row_count) <> 0
$$;

-- fold_queue_counts: put the appended lines into the base. Lines about rows that the check under
-- way has counted are also added to its sum.
--   Safe     to run twice at once: the second does nothing. Readers see the lines before or after, never half.
--   Returns  {folded}; at most 50,000 lines a call.
--   Callers  service role only (cron, each minute).
create function public.fold_queue_counts() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_folded int;
begin
  if not pg_catalog.pg_try_advisory_xact_lock(hashtext('queue_counts')) then
    return jsonb_build_object('folded', 0);
  end if;
  with taken as (
    delete from private.queue_count_deltas d where d.ctid = any (array(
      select x.ctid from private.queue_count_deltas x limit 50000))
    returning d.*),
  added as (
    insert into private.queue_counts as c
      select t.site_id, t.provider_key, t.status, t.currency, t.code, t.category,
        sum(t.row_count), sum(t.value_cents)
      from taken t group by 1, 2, 3, 4, 5, 6
      on conflict (site_id, provider_key, status, currency, code, category) do update
        set row_count = c.row_count + excluded.row_count,
            value_cents = c.value_cents + excluded.value_cents),
  checked as (
    insert into private.queue_check_counts as c
      select t.provider_key, t.status, t.currency, t.code, t.category,
        sum(t.row_count), sum(t.value_cents)
      from taken t join private.queue_check k on k.site_id = t.site_id and t.hour < k.through
      group by 1, 2, 3, 4, 5
      on conflict (provider_key, status, currency, code, category) do update
        set row_count = c.row_count + excluded.row_count,
            value_cents = c.value_cents + excluded.value_cents)
  select count(*) into v_folded from taken;
  delete from private.queue_counts c where c.row_count = 0 and c.value_cents = 0;
  with taken as (
    delete from private.queue_outcome_deltas d where d.ctid = any (array(
      select x.ctid from private.queue_outcome_deltas x limit 50000))
    returning d.*)
  insert into private.queue_outcomes as o
    select t.site_id, t.quarter, t.outcome, t.code, sum(t.row_count) from taken t
    group by 1, 2, 3, 4
    on conflict (site_id, quarter, outcome, code)
    do update set row_count = o.row_count + excluded.row_count;
  return jsonb_build_object('folded', v_folded);
end
$$;

grant execute on function public.fold_queue_counts() to opsmantik_app, service_role;
