-- invoice_adjustments: how earlier invoices of a site would differ if they were counted now.
-- count_days has counted changed days again, so this compares sums. It looks only at months whose
-- rows are all kept.
create function private.invoice_adjustments(p_site_id uuid, p_year_month text, p_currency text)
returns jsonb
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
      and private.month_start(v.year_month)
        > private.current_moment() - private.billed_rows_kept()
    group by v.site_id, v.year_month order by v.year_month
  loop
    v_days := private.invoice_days(p_site_id, v_past.year_month);
    v_count := private.events_of(v_days);
    continue when v_count = v_past.known_count;
    -- If the plan's currency has changed since, the count is corrected and no money is converted.
    v_cents := case
      when v_past.currency = p_currency then private.overage_cents(
        private.overage_events(v_count, v_past.monthly_limit),
        v_past.overage_cents_per_1000) - v_past.known_cents
      else 0 end;
    v_lines := v_lines || jsonb_build_object(
      'yearMonth', v_past.year_month,
      'events', v_count - v_past.known_count,
      'cents', v_cents,
      'eventCount', v_count,
      'eventsDigest', private.events_digest(v_days));
  end loop;
  return v_lines;
end
$$;

-- freeze_invoice: adds up, prices and stores one site's month, whose days are all counted. The
-- caller holds the site's invoice lock.
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
    where c.site_id = p_site.id and c.changed_at < v_end
    order by c.changed_at desc, c.id desc limit 1;
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
  v_invoice.overage_events :=
    private.overage_events(v_invoice.event_count, v_plan.monthly_limit);
  v_invoice.overage_cents :=
    private.overage_cents(v_invoice.overage_events, v_invoice.overage_cents_per_1000);
  v_invoice.adjustments :=
    private.invoice_adjustments(p_site.id, p_year_month, v_invoice.currency);
  v_invoice.adjustment_cents := (
    select coalesce(sum((a ->> 'cents')::bigint), 0)
    from jsonb_array_elements(v_invoice.adjustments) a);
  v_invoice.credits := private.invoice_credits(v_invoice);
  v_invoice.credit_cents := (
    select coalesce(sum((c ->> 'cents')::bigint), 0)
    from jsonb_array_elements(v_invoice.credits) c);
  v_invoice.total_cents := v_invoice.base_cents + v_invoice.overage_cents
    + v_invoice.adjustment_cents + v_invoice.credit_cents;
  -- The 25th of the following month, and at least two weeks after the invoice is made.
  v_invoice.due_at := greatest(
    v_end + interval '24 days',
    date_trunc('day', v_now, 'UTC') + interval '14 days');
  v_invoice.frozen_at := v_now;
  v_invoice.content_hash :=
    private.sha256_hex(private.invoice_text(v_invoice, p_site.public_id));
  insert into public.invoices values (v_invoice.*);
end
$$;

-- freeze_invoices: makes the invoices of a closed month, for each site that counted events in it,
-- had a plan with a price or a limit (the plan a site begins with has neither), or was given a
-- credit that still waits.
--   Takes    p_year_month, the previous month when null.
--   A step   counts at most 10,000 events of a site that are not counted yet and goes to the next
--            one. It ends after p_limit sites or about three seconds.
--   Safe     to repeat: a month that has its invoice keeps it. Rows that arrive afterwards become
--            a line in the next invoice. From two crons at once: the second waits, then finds the
--            invoice of the first.
--   Returns  {yearMonth, state: "open" | "closed", freezableAt, frozen, more, waiting}. An open
--            month, which includes the 48 hours of grace after its end, freezes nothing. Sites wait
--            while a transaction runs that may have begun before the month ended.
--   Callers  service role only (cron).
create function public.freeze_invoices(p_year_month text default null, p_limit int default 20)
returns jsonb
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
    return jsonb_build_object(
      'yearMonth', v_month,
      'state', 'open',
      'freezableAt', private.utc_text(v_freezable),
      'frozen', 0,
      'more', false,
      'waiting', 0);
  end if;
  for v_site in
    select s.* from public.sites s
    where not exists (
        select from public.invoices v where v.site_id = s.id and v.year_month = v_month)
      -- The first event, not exists(): the planner would read every event of every site for that.
      and ((select i.created_at from public.ingest_idempotency i
            where i.site_id = s.id and i.created_at >= v_from and i.created_at < v_to
            order by i.created_at limit 1) is not null
        or (coalesce(s.archived_at, v_to) >= v_from
            and exists (
              select from private.plan_changes c
              where c.site_id = s.id and c.changed_at < v_to
                and (c.base_price_cents > 0 or c.monthly_limit is not null)))
        or exists (
          select from private.billing_credits c
          where c.site_id = s.id and c.created_at >= v_from and c.created_at < v_to
            and c.day < (v_to at time zone 'UTC')::date
            and private.invoice_of_credit(c) is null))
    order by s.id limit v_limit
  loop
    v_found := v_found + 1;
    if clock_timestamp() > v_started + interval '3 seconds' then
      v_more := true;
      exit;
    end if;
    perform pg_catalog.pg_advisory_xact_lock(hashtextextended('invoice/' || v_site.id, 0));
    continue when exists (
      select from public.invoices v where v.site_id = v_site.id and v.year_month = v_month);
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
  return jsonb_build_object(
    'yearMonth', v_month,
    'state', 'closed',
    'freezableAt', private.utc_text(v_freezable),
    'frozen', v_frozen,
    'more', v_more or (v_found = v_limit and v_waiting = 0),
    'waiting', v_waiting);
end
$$;
grant execute on function public.freeze_invoices(text, int) to opsmantik_app, service_role;
