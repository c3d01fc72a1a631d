-- Invoices: a closed month becomes one invoice per site, counted from ingest_idempotency and from nothing else, and then never changes.

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
alter table public.invoices enable row level security;

create trigger invoices_never_change before update or delete on public.invoices
  for each row execute function private.refuse_change();
create trigger invoices_are_never_truncated before truncate on public.invoices
  for each statement execute function private.refuse_change();

-- overage_cents: what events beyond the plan cost, to the nearest cent.
create function private.overage_cents(p_events bigint, p_cents_per_1000 bigint) returns bigint
language sql immutable set search_path = ''
as $$
  select (p_events * p_cents_per_1000 + 500) / 1000
$$;

-- invoice_days: each day of a month with its count and digest, as count_days left them.
create function private.invoice_days(p_site_id uuid, p_year_month text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object('day', d.day, 'events', d.events,
    'digest', encode(d.digest, 'hex')) order by d.day), '[]')
  from private.counted_days d
  where d.site_id = p_site_id and d.events > 0
    and d.day >= (private.month_start(p_year_month) at time zone 'UTC')::date
    and d.day < (private.month_end(p_year_month) at time zone 'UTC')::date
$$;

create function private.events_digest(p_days jsonb) returns text
language sql immutable set search_path = ''
as $$
  select encode(sha256(convert_to(coalesce(string_agg(format(E'%s %s %s\n', d ->> 'day', d ->> 'events', d ->> 'digest'), '' order by d ->> 'day'), ''), 'UTF8')), 'hex')
  from jsonb_array_elements(p_days) d
$$;

create function private.events_of(p_days jsonb) returns bigint
language sql immutable set search_path = ''
as $$
  select coalesce(sum((d ->> 'events')::bigint), 0) from jsonb_array_elements(p_days) d
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
-- count_days has counted changed days again, so this compares sums. It looks only at months that
-- began less than 90 days ago.
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
    v_days := private.invoice_days(p_site_id, v_past.year_month);
    v_count := private.events_of(v_days);
    continue when v_count = v_past.known_count;
    -- A plan in another currency since then: the count is put right, money is not converted.
    v_cents := case when v_past.currency = p_currency
      then private.overage_cents(greatest(0, v_count - coalesce(v_past.monthly_limit, v_count)), v_past.overage_cents_per_1000) - v_past.known_cents else 0 end;
    v_lines := v_lines || jsonb_build_object('yearMonth', v_past.year_month, 'events', v_count - v_past.known_count, 'cents', v_cents,
      'eventCount', v_count, 'eventsDigest', private.events_digest(v_days));
  end loop;
  return v_lines;
end
$$;

-- freeze_invoice: add up, price and store one site's month, whose days are all counted. The caller
-- holds the site's invoice lock.
create function private.freeze_invoice(p_site public.sites, p_year_month text) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := date_trunc('second', private.current_moment());
  v_end timestamptz := private.month_end(p_year_month);
  v_plan private.plan_changes;
  v_invoice public.invoices;
begin
  select c.* into v_plan from private.plan_changes c
    where c.site_id = p_site.id and c.changed_at < v_end order by c.changed_at desc, c.id desc limit 1;
  v_invoice.site_id := p_site.id;
  v_invoice.year_month := p_year_month;
  v_invoice.days := private.invoice_days(p_site.id, p_year_month);
  v_invoice.events_digest := private.events_digest(v_invoice.days);
  v_invoice.event_count := private.events_of(v_invoice.days);
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
end
$$;

-- freeze_invoices: make the invoices of a closed month, for each site that had a plan or counted events in it.
--   Takes    p_year_month, the previous month when null.
--   A step   counts at most 10,000 events of a site that are not counted yet and goes to the next
--            one. It ends after p_limit sites or about three seconds.
--   Safe     to repeat: a month that has its invoice keeps it. Rows that turn up afterwards become
--            a line in the next invoice. From two crons at once: the second waits, then finds the
--            invoice of the first.
--   Returns  {yearMonth, state: "open" | "closed", freezableAt, frozen, more, waiting}. An open
--            month, which includes the 48 hours of grace after its end, freezes nothing. Sites wait
--            while a transaction runs that may have begun before the month ended.
--   Callers  service role only (cron).
create function public.freeze_invoices(p_year_month text default null, p_limit int default 20) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_month text := coalesce(p_year_month,
    private.billing_month(date_trunc('month', v_now, 'UTC') - interval '1 day'));
  v_from timestamptz := private.month_start(v_month);
  v_to timestamptz := private.month_end(v_month);
  v_freezable timestamptz := v_to + interval '48 hours';
  v_started timestamptz := clock_timestamp();
  v_until timestamptz;
  v_site public.sites;
  v_found int := 0;
  v_frozen int := 0;
  v_waiting int := 0;
  v_more boolean := false;
  v_limit int := least(greatest(p_limit, 1), 500);
begin
  if v_now < v_freezable then
    return jsonb_build_object('yearMonth', v_month, 'state', 'open',
      'freezableAt', private.utc_text(v_freezable), 'frozen', 0, 'more', false, 'waiting', 0);
  end if;
  for v_site in
    select s.* from public.sites s
    where not exists (select from public.invoices v where v.site_id = s.id and v.year_month = v_month)
      -- The first event, not exists(): the planner would read every event of every site for that.
      and ((select i.created_at from public.ingest_idempotency i
            where i.site_id = s.id and i.created_at >= v_from and i.created_at < v_to
            order by i.created_at limit 1) is not null
        or (coalesce(s.archived_at, v_to) >= v_from
            and exists (select from private.plan_changes c where c.site_id = s.id and c.changed_at < v_to)))
    order by s.id limit v_limit
  loop
    v_found := v_found + 1;
    if clock_timestamp() > v_started + interval '3 seconds' then
      v_more := true;
      exit;
    end if;
    perform pg_catalog.pg_advisory_xact_lock(hashtextextended('invoice/' || v_site.id, 0));
    continue when exists (select from public.invoices v
      where v.site_id = v_site.id and v.year_month = v_month);
    v_until := coalesce(v_until, private.settled_until());
    if v_until < v_to then
      v_waiting := v_waiting + 1;
    elsif private.count_days(v_site.id, v_to) then
      perform private.freeze_invoice(v_site, v_month);
      v_frozen := v_frozen + 1;
    else   -- more pages, or another cron is counting
      v_more := true;
    end if;
  end loop;
  return jsonb_build_object('yearMonth', v_month, 'state', 'closed',
    'freezableAt', private.utc_text(v_freezable), 'frozen', v_frozen,
    'more', v_more or (v_found = v_limit and v_waiting = 0), 'waiting', v_waiting);
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
    with gone as (
      delete from public.ingest_idempotency i
        using (
          select x.site_id, x.idempotency_key from public.ingest_idempotency x
          where x.site_id = v_month.site_id and x.created_at >= v_month.since
            and x.created_at < v_month.till and x.expires_at <= v_now
          order by x.created_at limit v_limit - v_purged for update skip locked) old
        where i.site_id = old.site_id and i.idempotency_key = old.idempotency_key
        returning i.created_at
    ), per_day as (
      select (g.created_at at time zone 'UTC')::date as day, count(*) as events
      from gone g group by 1
    ), noted as (
      update private.counted_days d set purged = d.purged + p.events
        from per_day p where d.site_id = v_month.site_id and d.day = p.day
    )
    select coalesce(sum(p.events), 0) into v_part from per_day p;
    v_purged := v_purged + v_part;
    exit when v_purged >= v_limit;
  end loop;
  return jsonb_build_object('purged', v_purged);
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

grant execute on function
  public.list_invoices(text),
  public.get_invoice(text, text)
to authenticated;
grant execute on function
  public.freeze_invoices(text, int),
  public.purge_expired_idempotency(int)
to opsmantik_app, service_role;
