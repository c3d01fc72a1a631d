-- Where billed units came from: small counts per UTC day, address range and browser. No address is
-- kept, only its range (/24 or /48).

create table private.usage_origins (
  site_id uuid not null references public.sites (id),
  day date not null,
  network text not null,   -- 203.0.113.0/24, 2001:db8:1::/48; '' where it is not known
  browser text not null,   -- its family, or 'system' for a signed report; '' where not known
  units bigint not null,
  primary key (site_id, day, network, browser),
  constraint network_is_a_range check (network = '' or network ~ '/(24|48)$'),
  constraint units_are_positive check (units > 0)
);
create index origins_by_day on private.usage_origins (day);
alter table private.usage_origins enable row level security;

-- note_origins: adds the leased events that are being stored to the counts of their days, in the
-- transaction that stores them: each billed event once, and an admission pays nothing for it.
--   Bounded  a day lists 2,000 ranges and browsers, and those of the batch that reached it. What
--            comes from further ranges is counted as not known.
--   Safe     beside other workers: rows are locked in order, after those of site_usage_monthly.
create function private.note_origins(p_token uuid, p_rows jsonb) returns void
language sql security definer set search_path = ''
as $$
  with stored as materialized (
    select b.site_id, (b.created_at at time zone 'UTC')::date as day,
      coalesce(r ->> 'network', '') as network,
      case when r ->> 'reporter' = 'system' then 'system'
        else coalesce(r ->> 'browser', '') end as browser,
      count(*) as units
    from jsonb_array_elements(p_rows) r
    join public.ingest_fallback_buffer b on b.id = (r ->> 'id')::uuid
    where b.claim_token = p_token and not b.is_enrichment
    group by 1, 2, 3, 4
  ), full_days as materialized (
    select d.site_id, d.day from (select distinct s.site_id, s.day from stored s) d
    where (select count(*) from private.usage_origins o
      where o.site_id = d.site_id and o.day = d.day) >= 2000
  ), placed as (
    select s.site_id, s.day, s.browser, s.units,
      case when f.day is null or exists (
          select from private.usage_origins o where o.site_id = s.site_id and o.day = s.day
            and o.network = s.network and o.browser = s.browser)
        then s.network else '' end as network
    from stored s left join full_days f on f.site_id = s.site_id and f.day = s.day
  )
  insert into private.usage_origins as o (site_id, day, network, browser, units)
    select p.site_id, p.day, p.network, p.browser, sum(p.units) from placed p
    group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (site_id, day, network, browser) do update set units = o.units + excluded.units
$$;

-- judged_days: the days from p_from to p_to with their units and what is usual for the site: the
-- median of the 28 days before, since its first event. A day is unusual with more than three times
-- that and at least 100 units more. With fewer than seven days before it nothing is usual yet.
create function private.judged_days(p_site_id uuid, p_from date, p_to date)
returns table (day date, units bigint, usual bigint, is_unusual boolean)
language sql stable security definer set search_path = ''
as $$
  with counted as materialized (
    select d.day, d.events,
      min(d.day) filter (where d.events > 0) over () as first_day
    from private.daily_counts(p_site_id, (p_from - 28)::timestamp at time zone 'UTC',
      (p_to + 1)::timestamp at time zone 'UTC') d
  )
  select c.day, c.events, u.usual,
    coalesce(c.events > 3 * u.usual and c.events >= u.usual + 100, false)
  from counted c
  left join lateral (
    select round(percentile_cont(0.5) within group (order by b.events))::bigint as usual
    from counted b where b.day >= greatest(c.day - 28, c.first_day) and b.day < c.day
    having count(*) >= 7) u on true
  where c.day >= p_from
  order by c.day
$$;

-- days_json: judged days as screens show them.
create function private.days_json(p_site_id uuid, p_from date, p_to date) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'day', d.day,
    'units', d.units,
    'usual', d.usual,
    'isUnusual', d.is_unusual) order by d.day), '[]')
  from private.judged_days(p_site_id, p_from, p_to) d
$$;

-- list_usage_origins: where the units of a day came from, the largest first.
--   Takes    p_day within the last 90 days; without it the newest unusual day of the last 35, or
--            today.
--   Returns  {day, units, usual, isUnusual, waiting, days, origins: [{network, browser, units}]}.
--            units is the ledger's count; waiting are those that the worker has not stored yet.
--   Callers  operators and owners: a range says more about visitors than a count.
create function public.list_usage_origins(p_public_id text, p_day date default null) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'operator');
  v_today date := (private.current_moment() at time zone 'UTC')::date;
  v_days jsonb := private.days_json(v_site.id, v_today - 34, v_today);
  v_day date := coalesce(
    p_day,
    (select max((d ->> 'day')::date) from jsonb_array_elements(v_days) d
      where (d ->> 'isUnusual')::boolean),
    v_today);
  v_asked jsonb;
  v_origins jsonb;
  v_known bigint;
begin
  if v_day > v_today or v_day <= v_today - 90 then
    perform private.refuse_setting('day');
  end if;
  select coalesce(jsonb_agg(jsonb_build_object(
      'network', o.network,
      'browser', o.browser,
      'units', o.units) order by o.units desc, o.network, o.browser), '[]'),
      coalesce(sum(o.units), 0)
    into v_origins, v_known
    from private.usage_origins o where o.site_id = v_site.id and o.day = v_day;
  v_asked := private.days_json(v_site.id, v_day, v_day) -> 0;
  return v_asked || jsonb_build_object(
    'waiting', greatest(0, (v_asked ->> 'units')::bigint - v_known),
    'days', v_days,
    'origins', v_origins);
end
$$;
grant execute on function public.list_usage_origins(text, date) to authenticated;

-- purge_usage_origins: forgets address ranges: days after 90 days, as long as single events are
-- kept; what ranges took of the leads' units when the month is over; refused hosts after a week.
--   Returns  {purged}; 0 when nothing is left.
--   Callers  service role only (cron).
create function public.purge_usage_origins(p_limit int default 10000) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  delete from private.lead_room_taken t
    where t.year_month < private.billing_month(private.current_moment());
  delete from private.refused_origins r
    where r.last_at < private.current_moment() - interval '7 days';
  delete from private.usage_origins o using (
    select x.site_id, x.day, x.network, x.browser from private.usage_origins x
    where x.day <= ((private.current_moment() - private.billed_rows_kept())
      at time zone 'UTC')::date
    order by x.day limit least(greatest(p_limit, 1), 50000) for update skip locked) old
    where o.site_id = old.site_id and o.day = old.day and o.network = old.network
      and o.browser = old.browser;
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;
grant execute on function public.purge_usage_origins(int) to opsmantik_app, service_role;
