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
  value_cents numeric not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index deltas_of_a_site on private.queue_count_deltas (site_id);

-- What a full count found, kept for whoever asks whether the figures can be believed.
create table private.queue_count_checks (
  id bigint generated always as identity primary key,
  checked_at timestamptz not null,
  rows_counted bigint not null,
  drift jsonb not null                             -- the lines that were wrong, with the difference; [] when none
);

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
alter table private.queue_count_checks enable row level security;

create function private.count_new_queue_rows() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into private.queue_count_deltas
    select n.site_id, n.provider_key, n.status, n.currency, case n.status when 'FAILED' then n.provider_error_code else '' end,
      case n.status when 'FAILED' then n.provider_error_category else '' end, count(*), sum(n.value_cents)
    from after_rows n group by 1, 2, 3, 4, 5, 6;
  return null;
end
$$;

create function private.count_changed_queue_rows() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into private.queue_count_deltas
    select d.site_id, d.provider_key, d.status, d.currency, case d.status when 'FAILED' then d.provider_error_code else '' end,
      case d.status when 'FAILED' then d.provider_error_category else '' end, sum(d.n), sum(d.n * d.value_cents)
    from (select 1 as n, a.site_id, a.provider_key, a.status, a.currency, a.provider_error_code, a.provider_error_category, a.value_cents from after_rows a
          union all
          select -1, b.site_id, b.provider_key, b.status, b.currency, b.provider_error_code, b.provider_error_category, b.value_cents from before_rows b) d
    group by 1, 2, 3, 4, 5, 6
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

-- fold_queue_counts: put the appended lines into the base.
--   Safe     to run twice at once: the second does nothing. Readers see the lines before or after, never half.
--   Returns  {folded}.
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
  with taken as (delete from private.queue_count_deltas d returning d.*),
  summed as (
    select t.site_id, t.provider_key, t.status, t.currency, t.code, t.category, sum(t.row_count) as row_count, sum(t.value_cents) as value_cents
    from taken t group by 1, 2, 3, 4, 5, 6),
  added as (
    insert into private.queue_counts as c select s.site_id, s.provider_key, s.status, s.currency, s.code, s.category, s.row_count, s.value_cents from summed s
      on conflict (site_id, provider_key, status, currency, code, category)
      do update set row_count = c.row_count + excluded.row_count, value_cents = c.value_cents + excluded.value_cents)
  select count(*) into v_folded from taken;
  delete from private.queue_counts c where c.row_count = 0 and c.value_cents = 0;
  with taken as (delete from private.queue_outcome_deltas d returning d.*)
  insert into private.queue_outcomes as o select t.site_id, t.quarter, t.outcome, t.code, sum(t.row_count) from taken t group by 1, 2, 3, 4
    on conflict (site_id, quarter, outcome, code) do update set row_count = o.row_count + excluded.row_count;
  return jsonb_build_object('folded', v_folded);
end
$$;

-- reconcile_queue_counts: count the queue once, write down what was wrong, and append what puts it right.
--   Safe     while others write: the count, the base and the appended lines are of one snapshot, and the correction is a line like any other.
--   Returns  {rowsCounted, drift}: the number of lines that were wrong.
--   Callers  service role only (daily cron).
create function public.reconcile_queue_counts() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_drift jsonb;
  v_rows bigint;
begin
  if not pg_catalog.pg_try_advisory_xact_lock(hashtext('queue_counts')) then
    return jsonb_build_object('rowsCounted', null, 'drift', 0);
  end if;
  with truth as (
    select q.site_id, q.provider_key, q.status, q.currency, case q.status when 'FAILED' then q.provider_error_code else '' end as code,
      case q.status when 'FAILED' then q.provider_error_category else '' end as category, count(*) as n, sum(q.value_cents) as v
    from public.offline_conversion_queue q group by 1, 2, 3, 4, 5, 6),
  wrong as (
    select d.site_id, d.provider_key, d.status, d.currency, d.code, d.category, sum(d.n) as n, sum(d.v) as v
    from (select t.* from truth t
          union all select c.site_id, c.provider_key, c.status, c.currency, c.code, c.category, -c.row_count, -c.value_cents from private.queue_counts c
          union all select x.site_id, x.provider_key, x.status, x.currency, x.code, x.category, -x.row_count, -x.value_cents from private.queue_count_deltas x) d
    group by 1, 2, 3, 4, 5, 6 having sum(d.n) <> 0 or sum(d.v) <> 0),
  put_right as (insert into private.queue_count_deltas select w.* from wrong w)
  select coalesce((select jsonb_agg(to_jsonb(w)) from wrong w), '[]'), coalesce((select sum(t.n) from truth t), 0) into v_drift, v_rows;
  delete from private.queue_outcomes o where o.quarter < private.current_moment() - interval '100 days';   -- charts go back 90
  insert into private.queue_count_checks (checked_at, rows_counted, drift) values (private.current_moment(), v_rows, v_drift);
  return jsonb_build_object('rowsCounted', v_rows, 'drift', jsonb_array_length(v_drift));
end
$$;

grant execute on function public.fold_queue_counts(), public.reconcile_queue_counts() to opsmantik_app, service_role;
