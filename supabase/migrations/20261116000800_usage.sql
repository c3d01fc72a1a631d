-- Usage: what a month holds, counted from ingest_idempotency, and the plan it is held against.
-- reconcile_usage leaves invoiced months alone; the invoices themselves are the next migration.

-- Which plan was in force when: site_plans holds only today's, and a change on the 1st must not reprice the month before.
create table private.plan_changes (
  id bigint generated always as identity primary key,
  site_id uuid not null references public.sites (id),
  changed_at timestamptz not null,
  name text not null,
  monthly_limit bigint,
  base_price_cents bigint not null,
  overage_cents_per_1000 bigint not null,
  currency text not null
);
create index plan_of_a_moment on private.plan_changes (site_id, changed_at desc, id desc);
alter table private.plan_changes enable row level security;

create trigger plan_changes_never_change before update or delete on private.plan_changes
  for each row execute function private.refuse_change();
create trigger plan_changes_are_never_truncated before truncate on private.plan_changes
  for each statement execute function private.refuse_change();

create function private.note_plan_change() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into private.plan_changes (site_id, changed_at, name, monthly_limit, base_price_cents, overage_cents_per_1000, currency)
    values (new.site_id, new.updated_at, new.name, new.monthly_limit, new.base_price_cents, new.overage_cents_per_1000, new.currency);
  return null;
end
$$;
create trigger plan_changes_are_kept after insert or update on public.site_plans
  for each row execute function private.note_plan_change();

-- month_start: the moment a billing month begins; the next month's beginning is its end.
create function private.month_start(p_year_month text) returns timestamptz
language plpgsql immutable set search_path = ''
as $$
begin
  if p_year_month is null or p_year_month !~ '^[0-9]{4}-(0[1-9]|1[0-2])$' then
    perform private.fail(400, 'VALIDATION_FAILED', jsonb_build_object('field', 'yearMonth'));
  end if;
  return (p_year_month || '-01')::timestamp at time zone 'UTC';
end
$$;

create function private.month_end(p_year_month text) returns timestamptz
language sql immutable set search_path = ''
as $$
  select ((private.month_start(p_year_month) at time zone 'UTC') + interval '1 month') at time zone 'UTC'
$$;

create function private.utc_text(p_at timestamptz) returns text
language sql immutable set search_path = ''
as $$
  select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
$$;

-- recount_month: set the running figure of a month to what the ledger holds.
--   Safe     beside admissions: the figure is read and set under the lock that admissions of a
--            capped site take. What count_days counted is added up; only newer events are counted
--            under the lock. Captured rows that a worker holds are passed over, so the two never wait
--            for each other: the worker adds what it stores, and it needs the figure's lock for that.
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

-- reconcile_usage: count what came since the last call, and set the running figures of this month
-- and of an unfrozen last month to what the ledger says.
--   A step   counts at most 10,000 events of a site and goes to the next one. It ends after half a
--            second or p_limit figures.
--   Safe     beside admissions: everything is counted before the first figure is locked. Under the
--            lock only events are counted that are not settled: those of the last minute, and those
--            since the oldest running transaction began. A site with over 20,000 of them waits.
--            Beside a second cron: one of them takes a site, the other passes it over.
--   Returns  {reconciled: [{publicId, yearMonth, eventCount, drift}], more, waiting}; drift is the
--            running figure minus the ledger, waiting the number of sites that wait.
--   Callers  service role only (cron).
create function public.reconcile_usage(p_limit int default 25) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_until timestamptz := private.settled_until();
  v_now timestamptz := private.current_moment();
  v_this text := private.billing_month(v_now);
  v_last text := private.billing_month(date_trunc('month', v_now, 'UTC') - interval '1 day');
  v_started timestamptz := clock_timestamp();
  v_limit int := least(greatest(p_limit, 1), 500);
  v_due record;
  v_counted boolean;
  v_usage public.site_usage_monthly;
  v_more boolean := false;
  v_waiting int := 0;
  v_ready jsonb := '[]';
  v_done jsonb := '[]';
begin
  for v_due in
    select s.id, s.public_id, m.year_month
    from public.sites s
    cross join (values (v_this), (v_last)) m(year_month)
    left join public.site_usage_monthly u on u.site_id = s.id and u.year_month = m.year_month
    where (u.reconciled_at is null or u.reconciled_at <= v_now - interval '5 minutes')
      and not exists (select from public.invoices v
        where v.site_id = s.id and v.year_month = m.year_month)
      -- The first event, not exists(): the planner may read every event of every site for that.
      and (u.site_id is not null or (
        select i.created_at from public.ingest_idempotency i where i.site_id = s.id
          and i.created_at >= private.month_start(m.year_month)
          and i.created_at < private.month_end(m.year_month)
        order by i.created_at limit 1) is not null)
    order by u.reconciled_at nulls first, s.id
  loop
    if jsonb_array_length(v_ready) = v_limit
        or clock_timestamp() > v_started + interval '500 milliseconds' then
      v_more := true;
      exit;
    end if;
    v_counted := private.count_days(v_due.id, v_until);
    continue when v_counted is null;
    if not v_counted then
      v_more := true;
    elsif exists (select from public.ingest_idempotency i
        where i.site_id = v_due.id and i.created_at >= v_until
        order by i.created_at offset 20000 limit 1) then
      v_waiting := v_waiting + 1;
    else
      v_ready := v_ready || to_jsonb(v_due);
    end if;
  end loop;
  for v_due in
    select r.* from jsonb_to_recordset(v_ready) r (id uuid, public_id text, year_month text)
  loop
    v_usage := private.recount_month(v_due.id, v_due.year_month);
    v_done := v_done || jsonb_build_object('publicId', v_due.public_id,
      'yearMonth', v_due.year_month, 'eventCount', v_usage.reconciled_count,
      'drift', v_usage.drift);
  end loop;
  return jsonb_build_object('reconciled', v_done, 'more', v_more, 'waiting', v_waiting);
end
$$;

create function private.days_with_events(p_site_id uuid, p_from timestamptz, p_to timestamptz)
returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(
    jsonb_agg(jsonb_build_object('day', d.day, 'events', d.events) order by d.day), '[]')
  from private.daily_counts(p_site_id, p_from, p_to) d where d.events > 0
$$;

-- dropped_events: how many events were not accepted since a day, by reason: what is folded and what is not yet.
create function private.dropped_events(p_site_id uuid, p_from date) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_object_agg(r.reason, r.drops), '{}')
  from (
    select t.reason, sum(t.drops) as drops
    from (select f.reason, f.drops from public.ingest_drops_daily f where f.site_id = p_site_id and f.day >= p_from
          union all
          select d.reason, d.drops from public.ingest_drop_deltas d where d.site_id = p_site_id and d.day >= p_from) t
    group by t.reason) r
$$;

-- billing_overview: this month so far. The figure is what the ledger holds now, not an estimate.
--   Callers  members.
create function public.billing_overview(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_now timestamptz := private.current_moment();
  v_month text := private.billing_month(v_now);
  v_from timestamptz := private.month_start(v_month);
  v_plan public.site_plans;
  v_usage public.site_usage_monthly;
  v_days jsonb := private.days_with_events(v_site.id, v_from, private.month_end(v_month));
begin
  select p.* into v_plan from public.site_plans p where p.site_id = v_site.id;
  select u.* into v_usage from public.site_usage_monthly u where u.site_id = v_site.id and u.year_month = v_month;
  return jsonb_build_object(
    'now', private.utc_text(v_now),
    'yearMonth', v_month,
    'currency', coalesce(v_plan.currency, v_site.currency),
    'plan', case when v_plan.site_id is not null then jsonb_build_object(
      'name', v_plan.name, 'monthlyLimit', v_plan.monthly_limit, 'enforcement', v_plan.enforcement, 'capEvents', private.plan_cap(v_plan),
      'basePriceCents', v_plan.base_price_cents, 'overageCentsPer1000', v_plan.overage_cents_per_1000) end,
    'used', (select coalesce(sum((d ->> 'events')::bigint), 0) from jsonb_array_elements(v_days) d),
    'days', v_days,
    -- The forecast learns weekdays from these.
    'daysBefore', private.days_with_events(v_site.id, v_from - interval '672 hours', v_from),
    'drops', private.dropped_events(v_site.id, (v_from at time zone 'UTC')::date),
    'reconciledAt', private.utc_text(v_usage.reconciled_at),
    'drift', v_usage.drift);
end
$$;

-- list_counted_events: every billed event of a month, one page at a time, in the order they came.
--   Takes    p_year_month, this month when null; p_cursor from the page before; at most 500 a page.
--   Returns  {yearMonth, total, events: [{at, name, key}], next}; total only on the first page, next null on the last.
--   Callers  members.
create function public.list_counted_events(
  p_public_id text, p_year_month text default null, p_cursor text default null, p_limit int default 100
) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_month text := coalesce(p_year_month, private.billing_month(private.current_moment()));
  v_from timestamptz := private.month_start(v_month);
  v_to timestamptz := private.month_end(v_month);
  v_after_at timestamptz;
  v_after_key bytea;
  v_limit int := least(greatest(p_limit, 1), 500);
  v_rows jsonb;
  v_total bigint;
begin
  if p_cursor is null then
    select sum(d.events - d.purged) into v_total
      from private.daily_counts(v_site.id, v_from, v_to) d;
  elsif p_cursor !~ '^[0-9]{4}-[0-9T:.-]{15,22}Z_[0-9a-f]{64}$' then
    perform private.fail(400, 'VALIDATION_FAILED', jsonb_build_object('field', 'cursor'));
  end if;
  v_after_at := greatest(v_from, split_part(p_cursor, '_', 1)::timestamptz);
  v_after_key := decode(coalesce(split_part(p_cursor, '_', 2), ''), 'hex');
  select coalesce(jsonb_agg(jsonb_build_object(
      'at', to_char(t.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'name', t.event_name,
      'key', encode(t.idempotency_key, 'hex')) order by t.created_at, t.idempotency_key), '[]')
    into v_rows
    from (
      select i.created_at, i.idempotency_key, i.event_name from public.ingest_idempotency i
      where i.site_id = v_site.id and i.created_at >= v_after_at and i.created_at < v_to
        and (i.created_at, i.idempotency_key) > (v_after_at, v_after_key)
      order by i.created_at, i.idempotency_key limit v_limit) t;
  return jsonb_build_object('yearMonth', v_month, 'total', v_total, 'events', v_rows,
    'next', case when jsonb_array_length(v_rows) = v_limit then v_rows -> -1 ->> 'at' || '_' || (v_rows -> -1 ->> 'key') end);
end
$$;

grant execute on function
  public.billing_overview(text),
  public.list_counted_events(text, text, text, int)
to authenticated;
grant execute on function public.reconcile_usage(int) to opsmantik_app, service_role;
