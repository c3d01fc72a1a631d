-- Outcomes of rows by quarter of an hour: every time zone's days begin at one. New ones are lines
-- of queue_count_deltas.
create table private.queue_outcomes (
  site_id uuid not null,
  quarter timestamptz not null,
  outcome text not null,                           -- COMPLETED, FAILED or RETRY
  code text not null,                              -- of FAILED; '' for the others
  row_count bigint not null,
  primary key (site_id, quarter, outcome, code)
);
alter table private.queue_outcomes enable row level security;

-- outcomes_since: the outcomes of a site's rows, by quarter of an hour. Kept as counts, so that
-- ninety busy days are some thousand lines.
create function private.outcomes_since(p_site_id uuid, p_from timestamptz)
returns table (quarter timestamptz, outcome text, code text, row_count bigint)
language sql stable security definer set search_path = ''
as $$
  select o.quarter, o.outcome, o.code, o.row_count from private.queue_outcomes o
  where o.site_id = p_site_id and o.quarter >= p_from
  union all
  select private.quarter_of(d.outcome_at), d.state, d.code, d.outcome_count
  from private.queue_count_deltas d
  where d.site_id = p_site_id and private.quarter_of(d.outcome_at) >= p_from
    and d.outcome_count > 0
$$;
