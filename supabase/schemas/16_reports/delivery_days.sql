-- What we sent against what Google says.

-- delivery_days: what we sent, day by day of the site's time zone, against what Google says of it.
--   Takes    p_from and p_to, both included; without them the last 30 days. At most 92.
--   Reads    the dispatches of these days, by idx_offline_conversion_queue_uploaded_at.
--   Returns  {siteId, timezone, from, to, days: [{day, currency, sent: {script, data_manager,
--            ads_api, by_hand}, confirmed, duplicate, rejected, unknown, waiting (Google is asked
--            again), noVerdict (the transport gives none), sentCents, confirmedCents (duplicates
--            included: Google has them), rejectedCents, restated, retracted,
--            adjustmentsRejected}]}, a line per day and currency with something sent. Counts and
--            values are of conversions; restated, retracted and adjustmentsRejected count
--            corrections and retractions.
--   Refuses  400 VALIDATION_FAILED with the field for an empty span, or one that is too long.
--   Callers  viewers.
create function public.delivery_days(
  p_public_id text, p_from date default null, p_to date default null
) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_to date := coalesce(p_to, private.today_at(v_site));
  v_from date := coalesce(p_from, v_to - 29);
  v_since timestamptz;
  v_until timestamptz;
  v_days jsonb;
begin
  if v_from > v_to or v_to - v_from > 91 then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "from"}');
  end if;
  v_since := private.start_of_day(v_site, v_from);
  v_until := private.start_of_day(v_site, v_to + 1);
  select coalesce(jsonb_agg(jsonb_build_object(
        'day', t.day,
        'currency', t.currency,
        'sent', jsonb_build_object(
          'script', t.script,
          'data_manager', t.data_manager,
          'ads_api', t.ads_api,
          'by_hand', t.by_hand),
        'confirmed', t.confirmed,
        'duplicate', t.duplicate,
        'rejected', t.rejected,
        'unknown', t.unknown,
        'waiting', t.waiting,
        'noVerdict', t.no_verdict,
        'sentCents', t.sent_cents,
        'confirmedCents', t.confirmed_cents,
        'rejectedCents', t.rejected_cents,
        'restated', t.restated,
        'retracted', t.retracted,
        'adjustmentsRejected', t.adjustments_rejected)
      order by t.day, t.currency), '[]')
    into v_days
    from (
      select (d.dispatched_at at time zone v_site.timezone)::date as day, d.currency,
        count(*) filter (where c.is_new and d.transport = 'script') as script,
        count(*) filter (where c.is_new and d.transport = 'data_manager') as data_manager,
        count(*) filter (where c.is_new and d.transport = 'ads_api') as ads_api,
        count(*) filter (where c.is_new and d.transport = 'by_hand') as by_hand,
        count(*) filter (where c.is_new and d.verdict = 'CONFIRMED') as confirmed,
        count(*) filter (where c.is_new and d.verdict = 'DUPLICATE') as duplicate,
        count(*) filter (where c.is_new and d.verdict = 'REJECTED') as rejected,
        count(*) filter (where c.is_new and d.verdict = 'UNKNOWN') as unknown,
        count(*) filter (where c.is_new and d.verdict is null
          and d.transport = 'data_manager') as waiting,
        count(*) filter (where c.is_new and d.verdict is null
          and d.transport <> 'data_manager') as no_verdict,
        coalesce(sum(d.value_cents) filter (where c.is_new), 0) as sent_cents,
        coalesce(sum(d.value_cents) filter (where c.is_new
          and d.verdict in ('CONFIRMED', 'DUPLICATE')), 0) as confirmed_cents,
        coalesce(sum(d.value_cents) filter (where c.is_new and d.verdict = 'REJECTED'), 0)
          as rejected_cents,
        count(*) filter (where d.kind = 'RESTATE') as restated,
        count(*) filter (where d.kind = 'RETRACT') as retracted,
        count(*) filter (where not c.is_new and d.verdict = 'REJECTED') as adjustments_rejected
      from public.provider_dispatches d
        cross join lateral (select d.kind = 'CONVERSION' as is_new) c
      where d.site_id = v_site.id and d.provider_key = 'google_ads'
        and d.dispatched_at >= v_since and d.dispatched_at < v_until
      group by 1, 2) t;
  return jsonb_build_object(
    'siteId', p_public_id,
    'timezone', v_site.timezone,
    'from', v_from,
    'to', v_to,
    'days', v_days);
end
$$;
grant execute on function public.delivery_days(text, date, date) to authenticated;
