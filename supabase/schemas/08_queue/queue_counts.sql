-- Counts: how many rows of the queue are in which state, and what they are worth, without counting
-- a million rows. Every statement that changes the queue appends what it changed; the sum of all is
-- exact at any moment and in any snapshot, and no two writers meet in one row. A cron folds the
-- appended lines into the base.

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
alter table private.queue_counts enable row level security;

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
alter table private.queue_count_deltas enable row level security;

-- count_new_queue_rows: trigger; appends what new rows add.
create function private.count_new_queue_rows() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into private.queue_count_deltas
    select n.site_id, n.provider_key, n.status, n.currency,
      case n.status when 'FAILED' then n.provider_error_code else '' end,
      case n.status when 'FAILED' then n.provider_error_category else '' end,
      count(*), sum(n.value_cents), date_trunc('hour', n.created_at, 'UTC')
    from after_rows n group by 1, 2, 3, 4, 5, 6, 9;
  return null;
end
$$;

-- count_changed_queue_rows: trigger; appends what changed rows add and take away, and their
-- outcomes.
create function private.count_changed_queue_rows() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into private.queue_count_deltas
    select d.site_id, d.provider_key, d.status, d.currency,
      case d.status when 'FAILED' then d.provider_error_code else '' end,
      case d.status when 'FAILED' then d.provider_error_category else '' end,
      sum(d.n), sum(d.n * d.value_cents), date_trunc('hour', d.created_at, 'UTC')
    from (
      select 1 as n, a.site_id, a.provider_key, a.status, a.currency, a.provider_error_code,
        a.provider_error_category, a.value_cents, a.created_at from after_rows a
      union all
      select -1, b.site_id, b.provider_key, b.status, b.currency, b.provider_error_code,
        b.provider_error_category, b.value_cents, b.created_at from before_rows b) d
    group by 1, 2, 3, 4, 5, 6, 9
    having sum(d.n) <> 0 or sum(d.n * d.value_cents) <> 0;
  insert into private.queue_outcome_deltas
    select a.site_id,
      date_bin('15 minutes', a.updated_at, timestamptz '2000-01-01 00:00:00+00'), a.status,
      case a.status when 'FAILED' then a.provider_error_code else '' end, count(*)
    from after_rows a join before_rows b on b.id = a.id
    where a.status in ('COMPLETED', 'FAILED', 'RETRY') and a.status <> b.status
    group by 1, 2, 3, 4;
  return null;
end
$$;

-- queue_totals: the lines of some sites, summed. One statement, so base and appended lines are of
-- the same moment.
create function private.queue_totals(p_site_ids uuid[])
returns table (
  provider_key text, status text, currency text, code text, category text, row_count bigint,
  value_cents bigint
)
language sql stable security definer set search_path = ''
as $$
  select t.provider_key, t.status, t.currency, t.code, t.category,
    sum(t.row_count)::bigint, sum(t.value_cents)::bigint
  from (
    select c.provider_key, c.status, c.currency, c.code, c.category, c.row_count, c.value_cents
    from private.queue_counts c where c.site_id = any (p_site_ids)
    union all
    select d.provider_key, d.status, d.currency, d.code, d.category, d.row_count, d.value_cents
    from private.queue_count_deltas d where d.site_id = any (p_site_ids)) t
  group by 1, 2, 3, 4, 5 having sum(t.row_count) <> 0
$$;
