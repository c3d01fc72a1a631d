-- The check of the counts: each night the queue is counted in steps, while its rows keep moving,
-- and compared with the stored counts.

-- The check that is under way: which site, and up to where its rows were counted.
create table private.queue_check (
  is_the_only_row boolean primary key default true check (is_the_only_row),
  site_id uuid,                                    -- null before the first site
  through timestamptz,                             -- rows created before it were counted
  rows_counted bigint not null default 0,
  drift jsonb not null default '[]'
);
alter table private.queue_check enable row level security;

insert into private.queue_check default values;

-- The sums of the rows counted so far, kept up to date while the check runs.
create table private.queue_check_counts (
  provider_key text not null,
  state text not null,
  currency text not null,
  code text not null,
  category text not null,
  row_count bigint not null,
  value_cents numeric not null,
  primary key (provider_key, state, currency, code, category)
);
alter table private.queue_check_counts enable row level security;

-- What each full count found, as evidence that the figures are right.
create table private.queue_count_checks (
  id bigint generated always as identity primary key,
  checked_at timestamptz not null,
  rows_counted bigint not null,
  drift jsonb not null                             -- the lines that were wrong; [] when none
);
alter table private.queue_count_checks enable row level security;
