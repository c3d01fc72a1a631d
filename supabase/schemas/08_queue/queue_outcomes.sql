-- Outcomes of rows by quarter of an hour: every time zone's days begin at one.
create table private.queue_outcomes (
  site_id uuid not null,
  quarter timestamptz not null,
  outcome text not null,                           -- COMPLETED, FAILED or RETRY
  code text not null,                              -- of FAILED; '' for the others
  row_count bigint not null,
  primary key (site_id, quarter, outcome, code)
);
alter table private.queue_outcomes enable row level security;

create table private.queue_outcome_deltas (
  site_id uuid not null,
  quarter timestamptz not null,
  outcome text not null,
  code text not null,
  row_count bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index outcome_deltas_of_a_site on private.queue_outcome_deltas (site_id);
alter table private.queue_outcome_deltas enable row level security;

-- outcomes_since: the outcomes of a site's rows, by quarter of an hour. Kept as counts, so that
-- ninety busy days are some thousand lines.
create function private.outcomes_since(p_site_id uuid, p_from timestamptz)
returns table (quarter timestamptz, outcome text, code text, row_count bigint)
language sql stable security definer set search_path = ''
as $$
  select o.quarter, o.outcome, o.code, o.row_count from private.queue_outcomes o
  where o.site_id = p_site_id and o.quarter >= p_from
  union all
  select d.quarter, d.outcome, d.code, d.row_count from private.queue_outcome_deltas d
  where d.site_id = p_site_id and d.quarter >= p_from
$$;
