-- Billing: a closed month becomes one invoice per site, counted from ingest_idempotency and from nothing else, and then never changes.

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

create table public.invoices (
  site_id uuid not null references public.sites (id),
  year_month text not null,
  event_count bigint not null,
  plan_name text,                          -- the plan in force when the month ended; null without one
  monthly_limit bigint,
  overage_cents_per_1000 bigint not null,
  currency text not null,
  base_cents bigint not null,
  overage_events bigint not null,
  overage_cents bigint not null,
  adjustments jsonb not null,              -- [{yearMonth, events, cents, eventCount, eventsDigest}]: what earlier months turned out to be
  adjustment_cents bigint not null,
  total_cents bigint not null,
  days jsonb not null,                     -- [{day, events, digest}]: one line per UTC day with events
  events_digest text not null,
  content_hash text not null,
  due_at timestamptz not null,
  frozen_at timestamptz not null,
  primary key (site_id, year_month),
  constraint invoice_is_for_a_month check (year_month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  constraint counts_are_not_negative check (event_count >= 0 and overage_events >= 0 and overage_events <= event_count),
  constraint total_is_the_sum_of_its_lines check (total_cents = base_cents + overage_cents + adjustment_cents),
  constraint hashes_are_sha_256 check (events_digest ~ '^[0-9a-f]{64}$' and content_hash ~ '^[0-9a-f]{64}$')
);
alter table private.plan_changes enable row level security;
alter table public.invoices enable row level security;

create trigger invoices_never_change before update or delete on public.invoices
  for each row execute function private.refuse_change();
create trigger invoices_are_never_truncated before truncate on public.invoices
  for each statement execute function private.refuse_change();
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

-- overage_cents: what events beyond the plan cost, to the nearest cent.
create function private.overage_cents(p_events bigint, p_cents_per_1000 bigint) returns bigint
language sql immutable set search_path = ''
as $$
  select (p_events * p_cents_per_1000 + 500) / 1000
$$;

-- counted_days: each UTC day of a month with its count and the SHA-256 over its keys, in the keys' order. Whoever has the keys can
-- do the same. Days are counted and digested apart: a difference is found on its day, a sort fits into memory, and no row needs its
-- day worked out. A million rows take about 1.5 s, half of what grouping them by day takes.
create function private.counted_days(p_site_id uuid, p_year_month text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object('day', to_char(d at time zone 'UTC', 'YYYY-MM-DD'), 'events', c.events, 'digest', encode(c.digest, 'hex')) order by d), '[]')
  from generate_series(private.month_start(p_year_month), private.month_end(p_year_month) - interval '24 hours', interval '24 hours') d
  cross join lateral (
    select count(*) as events, sha256(string_agg(i.idempotency_key, ''::bytea order by i.idempotency_key)) as digest
    from public.ingest_idempotency i
    where i.site_id = p_site_id and i.created_at >= d and i.created_at < d + interval '24 hours') c
  where c.events > 0
$$;

create function private.events_digest(p_days jsonb) returns text
language sql immutable set search_path = ''
as $$
  select encode(sha256(convert_to(coalesce(string_agg(format(E'%s %s %s\n', d ->> 'day', d ->> 'events', d ->> 'digest'), '' order by d ->> 'day'), ''), 'UTF8')), 'hex')
  from jsonb_array_elements(p_days) d
$$;

-- invoice_text: the invoice in its canonical form. Its SHA-256 is the content hash; lib/billing/verify-invoice.ts writes the same text.
create function private.invoice_text(p_invoice public.invoices, p_public_id text) returns text
language sql stable set search_path = ''
as $$
  select concat_ws(E'\n',
    'opsmantik invoice 1',
    'site ' || p_public_id,
    'month ' || p_invoice.year_month,
    'events ' || p_invoice.event_count,
    'events digest ' || p_invoice.events_digest,
    'plan ' || coalesce(to_json(p_invoice.plan_name)::text, 'none'),
    'limit ' || coalesce(p_invoice.monthly_limit::text, 'none'),
    'overage cents per 1000 ' || p_invoice.overage_cents_per_1000,
    'currency ' || p_invoice.currency,
    'base cents ' || p_invoice.base_cents,
    'overage events ' || p_invoice.overage_events,
    'overage cents ' || p_invoice.overage_cents,
    (select string_agg(format('adjustment %s events %s cents %s to %s %s', a ->> 'yearMonth', a ->> 'events', a ->> 'cents', a ->> 'eventCount', a ->> 'eventsDigest'),
       E'\n' order by a ->> 'yearMonth') from jsonb_array_elements(p_invoice.adjustments) a),
    'total cents ' || p_invoice.total_cents,
    'due ' || private.utc_text(p_invoice.due_at),
    'frozen ' || private.utc_text(p_invoice.frozen_at)) || E'\n'
$$;

-- invoice_adjustments: what earlier invoices of a site would count now and did not count then.
-- Only months that began less than 90 days ago are recounted: no row of those can have expired, so a lower count is a true one.
create function private.invoice_adjustments(p_site_id uuid, p_year_month text, p_currency text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_lines jsonb := '[]';
  v_past record;
  v_count bigint;
  v_cents bigint;
  v_days jsonb;
begin
  for v_past in
    select v.*,
      v.event_count + coalesce(sum((a ->> 'events')::bigint), 0) as known_count,
      v.overage_cents + coalesce(sum((a ->> 'cents')::bigint), 0) as known_cents
    from public.invoices v
    left join public.invoices later on later.site_id = v.site_id and later.year_month > v.year_month
    left join jsonb_array_elements(later.adjustments) a on a ->> 'yearMonth' = v.year_month
    where v.site_id = p_site_id and v.year_month < p_year_month
      and private.month_start(v.year_month) > private.current_moment() - interval '90 days'
    group by v.site_id, v.year_month order by v.year_month
  loop
    select count(*) into v_count from public.ingest_idempotency i
      where i.site_id = p_site_id and i.created_at >= private.month_start(v_past.year_month) and i.created_at < private.month_end(v_past.year_month);
    continue when v_count = v_past.known_count;
    -- A plan in another currency since then: the count is put right, money is not converted.
    v_cents := case when v_past.currency = p_currency
      then private.overage_cents(greatest(0, v_count - coalesce(v_past.monthly_limit, v_count)), v_past.overage_cents_per_1000) - v_past.known_cents else 0 end;
    v_days := private.counted_days(p_site_id, v_past.year_month);
    v_lines := v_lines || jsonb_build_object('yearMonth', v_past.year_month, 'events', v_count - v_past.known_count, 'cents', v_cents,
      'eventCount', v_count, 'eventsDigest', private.events_digest(v_days));
  end loop;
  return v_lines;
end
$$;

-- freeze_invoice: count, price and store one site's month.
--   Safe     from two crons at once: the site's lock lets one of them count, the other finds the invoice and leaves it.
create function private.freeze_invoice(p_site public.sites, p_year_month text) returns boolean
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := date_trunc('second', private.current_moment());
  v_end timestamptz := private.month_end(p_year_month);
  v_plan private.plan_changes;
  v_invoice public.invoices;
begin
  perform pg_catalog.pg_advisory_xact_lock(hashtextextended('invoice/' || p_site.id, 0));
  if exists (select from public.invoices v where v.site_id = p_site.id and v.year_month = p_year_month) then
    return false;
  end if;
  select c.* into v_plan from private.plan_changes c
    where c.site_id = p_site.id and c.changed_at < v_end order by c.changed_at desc, c.id desc limit 1;
  v_invoice.site_id := p_site.id;
  v_invoice.year_month := p_year_month;
  v_invoice.days := private.counted_days(p_site.id, p_year_month);
  v_invoice.events_digest := private.events_digest(v_invoice.days);
  v_invoice.event_count := (select coalesce(sum((d ->> 'events')::bigint), 0) from jsonb_array_elements(v_invoice.days) d);
  v_invoice.plan_name := v_plan.name;
  v_invoice.monthly_limit := v_plan.monthly_limit;
  v_invoice.overage_cents_per_1000 := coalesce(v_plan.overage_cents_per_1000, 0);
  v_invoice.currency := coalesce(v_plan.currency, p_site.currency);
  v_invoice.base_cents := coalesce(v_plan.base_price_cents, 0);
  v_invoice.overage_events := greatest(0, v_invoice.event_count - coalesce(v_plan.monthly_limit, v_invoice.event_count));
  v_invoice.overage_cents := private.overage_cents(v_invoice.overage_events, v_invoice.overage_cents_per_1000);
  v_invoice.adjustments := private.invoice_adjustments(p_site.id, p_year_month, v_invoice.currency);
  v_invoice.adjustment_cents := (select coalesce(sum((a ->> 'cents')::bigint), 0) from jsonb_array_elements(v_invoice.adjustments) a);
  v_invoice.total_cents := v_invoice.base_cents + v_invoice.overage_cents + v_invoice.adjustment_cents;
  -- The 25th of the following month, and never less than two weeks after the invoice came to be.
  v_invoice.due_at := greatest(v_end + interval '24 days', date_trunc('day', v_now, 'UTC') + interval '14 days');
  v_invoice.frozen_at := v_now;
  v_invoice.content_hash := encode(sha256(convert_to(private.invoice_text(v_invoice, p_site.public_id), 'UTF8')), 'hex');
  insert into public.invoices values (v_invoice.*);
  return true;
end
$$;

-- freeze_invoices: make the invoices of a closed month, for each site that had a plan or counted events in it.
--   Takes    p_year_month, the previous month when null. At most p_limit sites and about three seconds a call.
--   Safe     to repeat: a month that has its invoice keeps it. Rows that turn up afterwards become a line in the next invoice.
--   Returns  {yearMonth, state: "open" | "closed", freezableAt, frozen, more}. An open month, which includes the 48 hours of grace
--            after its end for late commits, freezes nothing.
--   Callers  service role only (cron).
create function public.freeze_invoices(p_year_month text default null, p_limit int default 20) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_month text := coalesce(p_year_month, private.billing_month(date_trunc('month', v_now, 'UTC') - interval '1 day'));
  v_from timestamptz := private.month_start(v_month);
  v_to timestamptz := private.month_end(v_month);
  v_freezable timestamptz := v_to + interval '48 hours';
  v_started timestamptz := clock_timestamp();
  v_site public.sites;
  v_found int := 0;
  v_looked int := 0;
  v_frozen int := 0;
  v_limit int := least(greatest(p_limit, 1), 500);
begin
  if v_now < v_freezable then
    return jsonb_build_object('yearMonth', v_month, 'state', 'open', 'freezableAt', private.utc_text(v_freezable), 'frozen', 0, 'more', false);
  end if;
  for v_site in
    select s.* from public.sites s
    where not exists (select from public.invoices v where v.site_id = s.id and v.year_month = v_month)
      and (exists (select from public.ingest_idempotency i where i.site_id = s.id and i.created_at >= v_from and i.created_at < v_to)
        or (coalesce(s.archived_at, v_to) >= v_from
            and exists (select from private.plan_changes c where c.site_id = s.id and c.changed_at < v_to)))
    order by s.id limit v_limit
  loop
    v_found := v_found + 1;
    continue when clock_timestamp() > v_started + interval '3 seconds';
    v_looked := v_looked + 1;
    if private.freeze_invoice(v_site, v_month) then
      v_frozen := v_frozen + 1;
    end if;
  end loop;
  return jsonb_build_object('yearMonth', v_month, 'state', 'closed', 'freezableAt', private.utc_text(v_freezable), 'frozen', v_frozen,
    'more', v_found > v_looked or v_found = v_limit);
end
$$;

-- reconcile_usage: set the running figures of this month and of an unfrozen last month to what the ledger says.
--   Safe     beside admissions: recount_month takes the lock a capped site's admission takes. A call ends after half a second, so
--            that no admission waits longer for it. Beside a second cron: one of them takes a site, the other passes it over.
--   Returns  {reconciled: [{publicId, yearMonth, eventCount, drift}], more}; drift is the running figure minus the ledger.
--   Callers  service role only (cron).
create function public.reconcile_usage(p_limit int default 100) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_this text := private.billing_month(v_now);
  v_last text := private.billing_month(date_trunc('month', v_now, 'UTC') - interval '1 day');
  v_started timestamptz := clock_timestamp();
  v_due record;
  v_usage public.site_usage_monthly;
  v_found int := 0;
  v_looked int := 0;
  v_done jsonb := '[]';
  v_limit int := least(greatest(p_limit, 1), 500);
begin
  for v_due in
    select s.id, s.public_id, m.year_month
    from public.sites s
    cross join (values (v_this), (v_last)) m(year_month)
    left join public.site_usage_monthly u on u.site_id = s.id and u.year_month = m.year_month
    where (u.reconciled_at is null or u.reconciled_at <= v_now - interval '5 minutes')
      and not exists (select from public.invoices v where v.site_id = s.id and v.year_month = m.year_month)
      and (u.site_id is not null or exists (
        select from public.ingest_idempotency i where i.site_id = s.id
          and i.created_at >= private.month_start(m.year_month) and i.created_at < private.month_end(m.year_month)))
    order by u.reconciled_at nulls first, s.id limit v_limit
  loop
    v_found := v_found + 1;
    continue when clock_timestamp() > v_started + interval '500 milliseconds';
    v_looked := v_looked + 1;
    continue when not pg_catalog.pg_try_advisory_xact_lock(hashtextextended('reconcile/' || v_due.id || v_due.year_month, 0));
    v_usage := private.recount_month(v_due.id, v_due.year_month);
    v_done := v_done || jsonb_build_object('publicId', v_due.public_id, 'yearMonth', v_due.year_month, 'eventCount', v_usage.reconciled_count, 'drift', v_usage.drift);
  end loop;
  return jsonb_build_object('reconciled', v_done, 'more', v_found > v_looked or v_found = v_limit);
end
$$;

-- purge_expired_idempotency: forget keys whose time is over. A month without its invoice keeps every row, however old.
-- It looks only at sites whose oldest row could have expired, and there only into invoiced months, in the order rows came: no row that
-- must stay is walked over.
--   Safe     from two crons at once: skip locked gives each row to one of them.
--   Returns  {purged}; 0 when nothing is left.
--   Callers  service role only (cron).
create function public.purge_expired_idempotency(p_limit int default 10000) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_newest timestamptz := v_now - interval '90 days';   -- a younger row has not expired
  v_limit int := least(greatest(p_limit, 1), 50000);
  v_purged int := 0;
  v_part int;
  v_month record;
begin
  for v_month in
    select v.site_id, private.month_start(v.year_month) as since, least(private.month_end(v.year_month), v_newest + interval '1 microsecond') as till
    from public.sites s
    cross join lateral (select i.created_at from public.ingest_idempotency i where i.site_id = s.id order by i.created_at limit 1) oldest
    join public.invoices v on v.site_id = s.id
      and v.year_month between private.billing_month(oldest.created_at) and private.billing_month(v_newest)
    where oldest.created_at <= v_newest
    order by v.year_month, v.site_id
  loop
    delete from public.ingest_idempotency i
      using (
        select x.site_id, x.idempotency_key from public.ingest_idempotency x
        where x.site_id = v_month.site_id and x.created_at >= v_month.since and x.created_at < v_month.till and x.expires_at <= v_now
        order by x.created_at limit v_limit - v_purged for update skip locked) gone
      where i.site_id = gone.site_id and i.idempotency_key = gone.idempotency_key;
    get diagnostics v_part = row_count;
    v_purged := v_purged + v_part;
    exit when v_purged >= v_limit;
  end loop;
  return jsonb_build_object('purged', v_purged);
end
$$;

-- daily_counts: what the ledger holds between two midnights, by UTC day: one range of the index per day.
create function private.daily_counts(p_site_id uuid, p_from timestamptz, p_to timestamptz) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object('day', to_char(d at time zone 'UTC', 'YYYY-MM-DD'), 'events', c.events) order by d), '[]')
  from generate_series(p_from, p_to - interval '24 hours', interval '24 hours') d
  cross join lateral (
    select count(*) as events from public.ingest_idempotency i
    where i.site_id = p_site_id and i.created_at >= d and i.created_at < d + interval '24 hours') c
  where c.events > 0
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

-- billing_overview: this month so far. The figure is counted from the ledger while the reader waits; it is not an estimate.
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
  v_days jsonb := private.daily_counts(v_site.id, v_from, private.month_end(v_month));
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
    'daysBefore', private.daily_counts(v_site.id, v_from - interval '672 hours', v_from),   -- what the forecast learns weekdays from
    'drops', private.dropped_events(v_site.id, (v_from at time zone 'UTC')::date),
    'reconciledAt', private.utc_text(v_usage.reconciled_at),
    'drift', v_usage.drift);
end
$$;

-- list_invoices: the newest sixty, without their days.
--   Callers  members.
create function public.list_invoices(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('yearMonth', t.year_month, 'eventCount', t.event_count, 'totalCents', t.total_cents,
             'currency', t.currency, 'contentHash', t.content_hash, 'dueAt', private.utc_text(t.due_at)) order by t.year_month desc), '[]')
    from (select * from public.invoices v where v.site_id = v_site.id order by v.year_month desc limit 60) t);
end
$$;

-- get_invoice: one invoice with all that is needed to count and hash it again elsewhere, and what later invoices corrected about it.
--   Callers  members.
create function public.get_invoice(p_public_id text, p_year_month text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v public.invoices;
begin
  select x.* into v from public.invoices x where x.site_id = v_site.id and x.year_month = p_year_month;
  if v.site_id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return jsonb_build_object(
    'site', v_site.public_id, 'yearMonth', v.year_month, 'eventCount', v.event_count, 'eventsDigest', v.events_digest,
    'planName', v.plan_name, 'monthlyLimit', v.monthly_limit, 'overageCentsPer1000', v.overage_cents_per_1000, 'currency', v.currency,
    'baseCents', v.base_cents, 'overageEvents', v.overage_events, 'overageCents', v.overage_cents,
    'adjustments', v.adjustments, 'totalCents', v.total_cents, 'dueAt', private.utc_text(v.due_at), 'frozenAt', private.utc_text(v.frozen_at),
    'contentHash', v.content_hash, 'days', v.days,
    'corrections', (
      select coalesce(jsonb_agg(a || jsonb_build_object('inInvoice', l.year_month) order by l.year_month), '[]')
      from public.invoices l cross join jsonb_array_elements(l.adjustments) a
      where l.site_id = v_site.id and l.year_month > v.year_month and a ->> 'yearMonth' = v.year_month),
    -- The first rows of the month may go from here on.
    'eventsKeptUntil', private.utc_text(greatest(private.month_start(v.year_month) + interval '90 days', private.month_end(v.year_month) + interval '2 months')));
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
    select count(*) into v_total from public.ingest_idempotency i where i.site_id = v_site.id and i.created_at >= v_from and i.created_at < v_to;
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
  public.list_invoices(text),
  public.get_invoice(text, text),
  public.list_counted_events(text, text, text, int)
to authenticated;
grant execute on function
  public.reconcile_usage(int),
  public.freeze_invoices(text, int),
  public.purge_expired_idempotency(int)
to opsmantik_app, service_role;
