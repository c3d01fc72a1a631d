-- Counts: how many rows of the queue are in which state, and what they are worth, without counting
-- a million rows. Every statement that changes a state appends what it changed; the sum of all is
-- exact at any moment and in any snapshot, and no two writers meet in one row. A cron folds the
-- appended lines into the base. A claim changes no state: rows in flight are read by their leases.

create table private.queue_counts (
  site_id uuid not null,
  provider_key text not null,
  state text not null,
  currency text not null,
  code text not null,                              -- of FAILED rows; '' for the others
  category text not null,
  row_count bigint not null,
  value_cents numeric not null,
  primary key (site_id, provider_key, state, currency, code, category)
);
alter table private.queue_counts enable row level security;

create table private.queue_count_deltas (
  site_id uuid not null,
  provider_key text not null,
  from_state text,                                 -- as many rows, worth as much, left this one
  state text not null,
  currency text not null,
  code text not null,
  category text not null,
  row_count bigint not null,
  value_cents numeric not null,
  hour timestamptz not null,                       -- in which the rows were created
  -- Of the rows that came to this state: outcomes, when, and a worker's tries that arrived.
  outcome_count bigint not null default 0,
  outcome_at timestamptz,
  arrived_tries bigint not null default 0
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index deltas_of_a_site on private.queue_count_deltas (site_id, hour);
alter table private.queue_count_deltas enable row level security;

-- count_new_queue_rows: trigger; appends what new rows add.
create function private.count_new_queue_rows() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into private.queue_count_deltas (site_id, provider_key, state, currency, code, category,
      row_count, value_cents, hour)
    select n.site_id, n.provider_key, n.state, n.currency,
      case n.state when 'FAILED' then n.provider_error_code else '' end,
      case n.state when 'FAILED' then n.provider_error_category else '' end,
      count(*), sum(n.value_cents), private.hour_of(n.created_at)
    from after_rows n group by 1, 2, 3, 4, 5, 6, 9;
  return null;
end
$$;

-- count_changed_queue_rows: trigger; appends what changed rows add and take away, and their
-- outcomes. Without nested loops, as check_queue_rows.
create function private.count_changed_queue_rows() returns trigger
language plpgsql security definer set search_path = '' set enable_nestloop = off
as $$
begin
  insert into private.queue_count_deltas (site_id, provider_key, state, currency, code, category,
      row_count, value_cents, hour, outcome_count, outcome_at)
    select d.site_id, d.provider_key, d.state, d.currency,
      case d.state when 'FAILED' then d.provider_error_code else '' end,
      case d.state when 'FAILED' then d.provider_error_category else '' end,
      sum(d.n), sum(d.n * d.value_cents), private.hour_of(d.created_at),
      count(d.outcome_at), d.outcome_at
    from (
      select 1 as n, a.site_id, a.provider_key, a.state, a.currency, a.provider_error_code,
        a.provider_error_category, a.value_cents, a.created_at,
        case when a.status in ('COMPLETED', 'FAILED', 'RETRY') and a.status <> b.status
          then a.updated_at end as outcome_at
      from after_rows a join before_rows b on b.id = a.id
      union all
      select -1, b.site_id, b.provider_key, b.state, b.currency, b.provider_error_code,
        b.provider_error_category, b.value_cents, b.created_at, null from before_rows b) d
    group by 1, 2, 3, 4, 5, 6, 9, 11
    having sum(d.n) <> 0 or sum(d.n * d.value_cents) <> 0 or count(d.outcome_at) > 0;
  return null;
end
$$;

-- queue_totals: the lines of some sites, summed, with the rows in flight apart. One statement, so
-- base, appended lines and leases are of the same moment.
create function private.queue_totals(p_site_ids uuid[])
returns table (
  provider_key text, status text, currency text, code text, category text, row_count bigint,
  value_cents bigint
)
language plpgsql stable security definer set search_path = ''
  set enable_hashjoin = off set enable_mergejoin = off   -- rows in flight are few: looked up
as $$
#variable_conflict use_column
begin
  return query
    select t.provider_key, t.status, t.currency, t.code, t.category,
      sum(t.row_count)::bigint, sum(t.value_cents)::bigint
    from (
      select c.provider_key, c.state as status, c.currency, c.code, c.category, c.row_count,
        c.value_cents
      from private.queue_counts c where c.site_id = any (p_site_ids)
      union all
      select d.provider_key, x.state, d.currency, x.code, x.category, x.sign * d.row_count,
        x.sign * d.value_cents
      from private.queue_count_deltas d cross join lateral (values
          (d.state, d.code, d.category, 1), (d.from_state, '', '', -1))
        x (state, code, category, sign)
      where d.site_id = any (p_site_ids) and x.state is not null
      union all
      select q.provider_key, x.status, q.currency, '', '', x.sign, x.sign * q.value_cents
      from private.queue_leases l
        cross join lateral unnest(l.row_ids) i (id)
        join private.queue_open q on q.id = i.id and q.claim_token = l.token
        cross join lateral (values (q.state, -1), ('PROCESSING', 1)) x (status, sign)
      where l.site_id = any (p_site_ids)) t
    group by 1, 2, 3, 4, 5 having sum(t.row_count) <> 0 or sum(t.value_cents) <> 0;
end
$$;
