-- The running figure of a month. It only decides quickly whether a month is full; the invoice is
-- counted from ingest_idempotency.

create table public.site_usage_monthly (
  site_id uuid not null references public.sites (id),
  year_month text not null,
  -- Running: exact for capped sites, seconds behind for the others.
  event_count bigint not null default 0,
  reconciled_count bigint,   -- COUNT(ingest_idempotency) at reconciled_at
  reconciled_at timestamptz,
  drift bigint,              -- event_count - reconciled_count as found then
  updated_at timestamptz not null,
  primary key (site_id, year_month),
  constraint year_month_is_a_month check (year_month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  constraint event_count_is_not_negative check (event_count >= 0)
);
alter table public.site_usage_monthly enable row level security;

-- lock_usage: this month's figure of a capped site, held until the admission ends.
create function private.lock_usage(p_site_id uuid, p_year_month text) returns bigint
language plpgsql security definer set search_path = ''
as $$
declare
  v_used bigint;
begin
  select u.event_count into v_used from public.site_usage_monthly u
    where u.site_id = p_site_id and u.year_month = p_year_month for update;
  if not found then
    insert into public.site_usage_monthly (site_id, year_month, updated_at)
      values (p_site_id, p_year_month, private.current_moment())
      on conflict do nothing;
    select u.event_count into v_used from public.site_usage_monthly u
      where u.site_id = p_site_id and u.year_month = p_year_month for update;
  end if;
  return v_used;
end
$$;

-- recount_month: set the running figure of a month to what the ledger holds.
--   Safe     beside admissions: the figure is read and set under the lock that admissions of a
--            capped site take. What count_days counted is added up; only newer events are counted
--            under the lock. Captured rows that a worker holds are passed over, so the two never
--            wait for each other: the worker adds what it stores, and it needs the figure's lock
--            for that.
create function private.recount_month(p_site_id uuid, p_year_month text)
returns public.site_usage_monthly
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_from timestamptz := private.month_start(p_year_month);
  v_to timestamptz := private.month_end(p_year_month);
  v_usage public.site_usage_monthly;
  v_waiting uuid[];
  v_count bigint;
  v_late bigint;
begin
  select coalesce(array_agg(t.id), '{}') into v_waiting from (
    select b.id from public.ingest_fallback_buffer b
    where b.status in ('PENDING', 'PROCESSING', 'FAILED')   -- stored rows are always counted
      and not b.counted and b.site_id = p_site_id and b.created_at >= v_from and b.created_at < v_to
    for update skip locked) t;
  update public.ingest_fallback_buffer b set counted = true where b.id = any (v_waiting);
  insert into public.site_usage_monthly (site_id, year_month, updated_at)
    values (p_site_id, p_year_month, v_now) on conflict do nothing;
  perform from public.site_usage_monthly u
    where u.site_id = p_site_id and u.year_month = p_year_month for update;
  -- One statement, one snapshot: an admission that commits now is in both figures or in neither.
  select
    (select coalesce(sum(d.events), 0) from private.daily_counts(p_site_id, v_from, v_to) d),
    (select count(*) from public.ingest_fallback_buffer b
      where b.status in ('PENDING', 'PROCESSING', 'FAILED') and not b.counted
        and b.site_id = p_site_id and b.created_at >= v_from and b.created_at < v_to)
    into v_count, v_late;
  update public.site_usage_monthly u   -- the worker adds late ones when it stores them
    set drift = u.event_count + cardinality(v_waiting) + v_late - v_count,
        event_count = v_count - v_late,
        reconciled_count = v_count, reconciled_at = v_now, updated_at = v_now
    where u.site_id = p_site_id and u.year_month = p_year_month
    returning * into v_usage;
  return v_usage;
end
$$;
