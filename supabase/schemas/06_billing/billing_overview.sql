-- What a site's members see of a month.

-- days_with_events: the days from p_from until before p_to that have events.
create function private.days_with_events(p_site_id uuid, p_from timestamptz, p_to timestamptz)
returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(
    jsonb_agg(jsonb_build_object('day', d.day, 'events', d.events) order by d.day), '[]')
  from private.daily_counts(p_site_id, p_from, p_to) d where d.events > 0
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
  select u.* into v_usage from public.site_usage_monthly u
    where u.site_id = v_site.id and u.year_month = v_month;
  return jsonb_build_object(
    'now', private.utc_text(v_now),
    'yearMonth', v_month,
    'currency', v_plan.currency,
    'plan', jsonb_build_object(
      'name', v_plan.name,
      'monthlyLimit', v_plan.monthly_limit,
      'enforcement', v_plan.enforcement,
      'capEvents', private.plan_cap(v_plan),
      'leadSharePercent', v_plan.lead_share_percent,
      'openEvents', private.open_events(v_plan),
      'signedEvents', private.signed_events(
        v_site.id, private.plan_cap(v_plan) - private.open_events(v_plan)),
      'basePriceCents', v_plan.base_price_cents,
      'overageCentsPer1000', v_plan.overage_cents_per_1000),
    'used', private.events_of(v_days),
    'days', v_days,
    -- The forecast learns weekdays from these.
    'daysBefore', private.days_with_events(v_site.id, v_from - interval '672 hours', v_from),
    'drops', private.dropped_events(v_site.id, (v_from at time zone 'UTC')::date),
    'reconciledAt', private.utc_text(v_usage.reconciled_at),
    'drift', v_usage.drift,
    'credits', private.listed_credits(v_site.id),
    'unusualDays', jsonb_path_query_array(
      private.days_json(v_site.id, (v_from at time zone 'UTC')::date,
        (v_now at time zone 'UTC')::date), '$[*] ? (@.isUnusual == true)'));
end
$$;
grant execute on function public.billing_overview(text) to authenticated;

-- list_counted_events: every billed event of a month, one page at a time, in the order they came.
--   Takes    p_year_month, this month when null; p_cursor from the page before; at most 500 a page.
--   Returns  {yearMonth, total, events: [{at, name, key}], next}; total only on the first page,
--            next null on the last.
--   Callers  members.
create function public.list_counted_events(
  p_public_id text, p_year_month text default null, p_cursor text default null,
  p_limit int default 100
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
      'at', private.exact_time(t.created_at),
      'name', t.event_name,
      'key', encode(t.idempotency_key, 'hex'))
      order by t.created_at, t.idempotency_key), '[]')
    into v_rows
    from (
      select i.created_at, i.idempotency_key, i.event_name from public.ingest_idempotency i
      where i.site_id = v_site.id and i.created_at >= v_after_at and i.created_at < v_to
        and (i.created_at, i.idempotency_key) > (v_after_at, v_after_key)
      order by i.created_at, i.idempotency_key limit v_limit) t;
  return jsonb_build_object(
    'yearMonth', v_month,
    'total', v_total,
    'events', v_rows,
    'next', case
      when jsonb_array_length(v_rows) = v_limit
        then v_rows -> -1 ->> 'at' || '_' || (v_rows -> -1 ->> 'key') end);
end
$$;
grant execute on function public.list_counted_events(text, text, text, int) to authenticated;
