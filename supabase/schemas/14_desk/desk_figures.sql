-- The desk's figures: today, the days before, the usual amounts, and how many leads wait.

-- start_of_day: when a day of the site's calendar begins.
create function private.start_of_day(p_site public.sites, p_day date) returns timestamptz
language sql stable set search_path = ''
as $$ select p_day::timestamp at time zone p_site.timezone $$;

-- today_at: the present day of the site's calendar.
create function private.today_at(p_site public.sites) returns date
language sql stable set search_path = ''
as $$ select (private.current_moment() at time zone p_site.timezone)::date $$;

-- daily_figures: one row per day of the site's calendar. A lead counts on the day it came, a seal
-- on the day it was made.
create function private.daily_figures(p_site public.sites, p_days int) returns table (
  day date, leads bigint, sealed bigint, value_cents bigint, median_minutes numeric,
  queued bigint, delivered bigint, failed bigint
)
language sql stable security definer set search_path = ''
as $$
  with span as (
    select d.first, private.start_of_day(p_site, d.first) as since
    from (select private.today_at(p_site) - (p_days - 1) as first) d),
  came as (
    select (c.called_at at time zone p_site.timezone)::date as day, count(*) as leads
    from public.calls c, span
    where c.site_id = p_site.id and c.called_at >= span.since
    group by 1),
  won as (
    select (c.status_at at time zone p_site.timezone)::date as day, count(*) as sealed,
      sum(s.amount_cents) filter (where s.currency = p_site.currency)::bigint as value_cents,
      round((percentile_cont(0.5) within group (
        order by extract(epoch from c.status_at - c.called_at)) / 60)::numeric, 1)
        as median_minutes
    from span, public.calls c
      left join lateral (   -- call by call, however many the planner expects
        select x.amount_cents, x.currency from public.sales x
        where x.call_id = c.id and x.status = 'CONFIRMED' limit 1) s on true
    where c.site_id = p_site.id and c.status = 'sealed' and c.status_at >= span.since
    group by 1),
  put as (
    select (t.created_at at time zone p_site.timezone)::date as day, count(*) as queued
    from private.queue_moves t, span
    where t.site_id = p_site.id and t.created_at >= span.since and t.from_status is null
    group by 1),
  sent as (
    select (q.uploaded_at at time zone p_site.timezone)::date as day, count(*) as delivered
    from public.offline_conversion_queue q, span
    where q.site_id = p_site.id and q.provider_key = 'google_ads'
      and q.state = 'COMPLETED' and q.uploaded_at >= span.since
    group by 1),
  lost as (
    select (q.updated_at at time zone p_site.timezone)::date as day, count(*) as failed
    from public.offline_conversion_queue q, span
    where q.site_id = p_site.id and q.state = 'FAILED'
      and q.provider_error_category <> 'DETERMINISTIC_SKIP' and q.updated_at >= span.since
    group by 1)
  select d.day::date, coalesce(came.leads, 0), coalesce(won.sealed, 0),
    coalesce(won.value_cents, 0), won.median_minutes, coalesce(put.queued, 0),
    coalesce(sent.delivered, 0), coalesce(lost.failed, 0)
  from span, generate_series(span.first, span.first + (p_days - 1), interval '1 day') d (day)
    left join came on came.day = d.day
    left join won on won.day = d.day
    left join put on put.day = d.day
    left join sent on sent.day = d.day
    left join lost on lost.day = d.day
  order by 1
$$;

-- desk_figures: today in the site's calendar, the days that end with it, what is under way now, and
-- the site's delays, from which the desk says what will happen.
--   Takes    p_days: how many days the chart shows, 7 to 90. As many before them are given too.
--   Returns  {asOf, today, currency, rules, open, days, otherCurrencySales, confirmed, waiting,
--            failed, lastWeekMedianMinutes, todayByStatus, campaigns, hasLeads, hasVisits}.
--   Callers  viewers.
create function public.desk_figures(p_public_id text, p_days int default 30) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_today date := private.today_at(v_site);
  v_start timestamptz := private.start_of_day(v_site, v_today);
begin
  return jsonb_build_object(
    'asOf', private.current_moment(),
    'today', v_today,
    'currency', v_site.currency,
    'rules', jsonb_build_object(
      'sendDelayMinutes', v_site.send_delay_minutes,
      'clickMinAgeHours', v_site.click_min_age_hours,
      'syncMethod', v_site.oci_sync_method),
    'open', private.count_open_leads(v_site.id),
    'days', (
      select jsonb_agg(jsonb_build_object(
          'day', f.day,
          'leads', f.leads,
          'sealed', f.sealed,
          'valueCents', f.value_cents,
          'medianMinutes', f.median_minutes,
          'queued', f.queued,
          'delivered', f.delivered,
          'failed', f.failed)
        order by f.day)
      from private.daily_figures(v_site, 2 * least(greatest(p_days, 7), 90)) f),
    'otherCurrencySales', (
      select count(*) from public.calls c
        join public.sales s on s.call_id = c.id and s.status = 'CONFIRMED'
      where c.site_id = v_site.id and c.status = 'sealed' and c.status_at >= v_start
        and s.currency <> v_site.currency),
    'confirmed', (
      select count(*) from public.provider_dispatches d
      where d.site_id = v_site.id and d.provider_key = 'google_ads'
        and d.dispatched_at >= v_start and d.verdict = 'CONFIRMED'),
    -- The same counts as OCI Control's, so that the two screens never differ.
    'waiting', (
      select jsonb_build_object('count', coalesce(sum(t.n), 0),
        'valueCents', coalesce(jsonb_object_agg(t.currency, t.v), '{}'))
      from (
        select q.currency, sum(q.row_count) as n, sum(q.value_cents) as v
        from private.queue_totals(array[v_site.id]) q
        where q.status = any (private.waiting_states()) group by 1) t),
    'failed', (
      select jsonb_build_object('count', coalesce(sum(t.n), 0),
        'topCode', (array_agg(t.code order by t.n desc, t.code))[1])
      from (
        select q.code, sum(q.row_count) as n from private.queue_totals(array[v_site.id]) q
        where q.status = 'FAILED' and q.category <> 'DETERMINISTIC_SKIP' group by 1) t),
    'lastWeekMedianMinutes', (
      select round((percentile_cont(0.5) within group (
        order by extract(epoch from c.status_at - c.called_at)) / 60)::numeric, 1)
      from public.calls c
      where c.site_id = v_site.id and c.status = 'sealed'
        and c.status_at >= private.start_of_day(v_site, v_today - 7) and c.status_at < v_start),
    'todayByStatus', (
      select coalesce(jsonb_object_agg(t.status, t.count), '{}')
      from (
        select c.status, count(*) from public.calls c
        where c.site_id = v_site.id and c.called_at >= v_start
        group by 1) t),
    'campaigns', (
      select coalesce(jsonb_agg(t.campaign), '[]')
      from (
        select s.utm ->> 'campaign' as campaign
        from public.calls c join public.sessions s on s.id = c.session_id
        where c.site_id = v_site.id and c.called_at >= v_start - interval '60 days'
          and s.utm ? 'campaign'
        group by 1 order by count(*) desc, 1 limit 30) t),
    'hasLeads', exists (select from public.calls c where c.site_id = v_site.id),
    'hasVisits', exists (select from public.sessions s where s.site_id = v_site.id));
end
$$;
grant execute on function public.desk_figures(text, int) to authenticated;

-- amount_presets: up to four amounts that this site sealed most often in the last 90 days, lowest
-- first, each named by what operators note beside it, for those who may read notes. Without any,
-- the amounts that the owner chose, the middle one as the usual one; without those the site's
-- expected value, which the desk offers as such.
--   Returns  [{amountCents, label, isUsual, isExpected}].
--   Callers  viewers.
create function public.amount_presets(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_presets jsonb;
begin
  select jsonb_agg(jsonb_build_object(
        'amountCents', t.amount_cents,
        'label', private.readable_note(v_site.id, t.label),
        'isUsual', t.place = 1,
        'isExpected', false)
      order by t.amount_cents)
    into v_presets
    from (
      select s.amount_cents,
        mode() within group (order by left(nullif(btrim(split_part(s.note, ',', 1)), ''), 28))
          as label,
        row_number() over (order by count(*) desc, max(s.updated_at) desc) as place
      from public.sales s
      where s.site_id = v_site.id and s.status = 'CONFIRMED'
        and s.occurred_at >= private.current_moment() - interval '90 days'
        and s.value_source = 'OPERATOR' and s.currency = v_site.currency
      group by s.amount_cents order by place limit 4) t;
  return coalesce(
    v_presets,
    (select jsonb_agg(jsonb_build_object(
        'amountCents', a.cents,
        'label', null,
        'isUsual', a.place = (cardinality(v_site.amount_presets) + 1) / 2,
        'isExpected', false)
      order by a.place)
     from unnest(v_site.amount_presets) with ordinality a (cents, place)),
    jsonb_build_array(jsonb_build_object(
      'amountCents', private.expected_value_cents(v_site, 'sealed'),
      'label', null,
      'isUsual', true,
      'isExpected', true)));
end
$$;
grant execute on function public.amount_presets(text) to authenticated;

-- open_leads: how many leads of each of the caller's sites wait for a decision, for the navigation.
--   Returns  {siteId: count}.
--   Callers  anyone who is signed in, for their own sites.
create function public.open_leads() returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_object_agg(s.public_id, private.count_open_leads(s.id)), '{}')
  from public.site_members m
    join public.sites s on s.id = m.site_id and s.archived_at is null
  where m.user_id = auth.uid()
$$;
grant execute on function public.open_leads() to authenticated;
