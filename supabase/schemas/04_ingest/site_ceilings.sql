-- Ceilings: how many events a site takes a minute and a day before the gate answers as a rate
-- limit. They follow what the site usually sends, unless an owner sets them.

create table private.site_ceilings (
  site_id uuid primary key references public.sites (id),
  minute_max int,   -- null: follows the site's history
  day_max int,
  updated_at timestamptz not null,
  constraint minute_ceiling_is_sane check (minute_max between 60 and 1000000),
  constraint day_ceiling_is_sane check (day_max between 1000 and 100000000)
);
alter table private.site_ceilings enable row level security;

-- What a site sent on one UTC day, in all and in its busiest minute.
create table private.busy_days (
  site_id uuid not null references public.sites (id),
  day date not null,
  events int not null,
  busiest_minute int not null,
  primary key (site_id, day)
);
alter table private.busy_days enable row level security;

-- usual_load: the busiest day and minute that are usual for a site. With a week of history the
-- fourth busiest of 28 days, so that three days of a flood do not raise it; before that the middle
-- one, so that a flood does not raise its own ceiling from day to day. Days with a credit are
-- disputed and do not count.
create function private.usual_load(p_site_id uuid) returns table (a_minute int, a_day int)
language sql stable security definer set search_path = ''
as $$
  with recent as (
    select b.events, b.busiest_minute, count(*) over () as days
    from private.busy_days b
    where b.site_id = p_site_id and b.events > 0
      and b.day >= (private.current_moment() at time zone 'UTC')::date - 28
      and not exists (select from private.billing_credits c
        where c.site_id = p_site_id and c.day = b.day)
  ), ranked as (
    select r.*, row_number() over (order by r.events desc) as by_day,
      row_number() over (order by r.busiest_minute desc) as by_minute,
      case when r.days > 7 then 4 else 1 + r.days / 2 end as wanted
    from recent r
  )
  select coalesce(max(k.busiest_minute) filter (where k.by_minute = k.wanted), 0),
    coalesce(max(k.events) filter (where k.by_day = k.wanted), 0)
  from ranked k
$$;

-- ceilings_of: ten times a usual busiest minute and five times a usual busiest day, at least 1,000
-- and 20,000; or what an owner set.
create function private.ceilings_of(p_site_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'minuteMax', coalesce(c.minute_max, least(1000000, greatest(1000, 10 * u.a_minute))),
    'dayMax', coalesce(c.day_max, least(100000000, greatest(20000, 5::bigint * u.a_day))),
    'minuteByHand', c.minute_max, 'dayByHand', c.day_max,
    'usualMinute', u.a_minute, 'usualDay', u.a_day)
  from private.usual_load(p_site_id) u
  left join private.site_ceilings c on c.site_id = p_site_id
$$;

-- read_site_ceilings: the ceilings of a site, and how many events they turned away on which day.
--   Returns  {minuteMax, dayMax, minuteByHand, dayByHand, usualMinute, usualDay, turnedAway: [{day,
--            events}]} of the last 30 days, newest first.
--   Callers  members.
create function public.read_site_ceilings(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_from date := (private.current_moment() at time zone 'UTC')::date - 30;
begin
  return private.ceilings_of(v_site.id) || jsonb_build_object('turnedAway', (
    select coalesce(jsonb_agg(jsonb_build_object('day', t.day, 'events', t.events)
      order by t.day desc), '[]')
    from (
      select d.day, sum(d.drops) as events
      from (
        select f.day, f.drops from public.ingest_drops_daily f
        where f.site_id = v_site.id and f.reason = 'ceiling' and f.day >= v_from
        union all
        select e.day, e.drops from public.ingest_drop_deltas e
        where e.site_id = v_site.id and e.reason = 'ceiling' and e.day >= v_from) d
      group by d.day) t));
end
$$;
grant execute on function public.read_site_ceilings(text) to authenticated;

-- set_site_ceilings: an owner sets the ceilings by hand; null follows the site's history again.
--   Callers  owners.
create function public.set_site_ceilings(
  p_public_id text, p_minute_max int default null, p_day_max int default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  if p_minute_max not between 60 and 1000000 or p_day_max not between 1000 and 100000000 then
    perform private.fail(400, 'VALIDATION_FAILED');
  end if;
  insert into private.site_ceilings as c (site_id, minute_max, day_max, updated_at)
    values (v_site.id, p_minute_max, p_day_max, private.current_moment())
    on conflict (site_id) do update
      set minute_max = excluded.minute_max, day_max = excluded.day_max,
        updated_at = excluded.updated_at;
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.set_site_ceilings(text, int, int) to authenticated;

-- note_busy_days: writes down what up to p_limit sites sent yesterday, and forgets what is older
-- than 35 days.
--   Safe     from any number of callers: a day of a site is written once.
--   Returns  {noted}.
--   Callers  service role only (cron).
create function public.note_busy_days(p_limit int default 500) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_day date := (private.current_moment() at time zone 'UTC')::date - 1;
  v_noted int;
begin
  delete from private.busy_days b where b.day < v_day - 35;
  insert into private.busy_days (site_id, day, events, busiest_minute)
    select s.id, v_day, coalesce(sum(m.events), 0), coalesce(max(m.events), 0)
    from (
      select t.id from public.sites t
      where t.archived_at is null and not exists (
        select from private.busy_days b where b.site_id = t.id and b.day = v_day)
      order by t.id limit p_limit) s
    left join lateral (
      select count(*) as events from public.ingest_idempotency x
      where x.site_id = s.id and x.created_at >= v_day at time zone 'UTC'
        and x.created_at < (v_day + 1) at time zone 'UTC'
      group by date_trunc('minute', x.created_at)) m on true
    group by s.id
    on conflict do nothing;
  get diagnostics v_noted = row_count;
  return jsonb_build_object('noted', v_noted);
end
$$;
grant execute on function public.note_busy_days(int) to opsmantik_app, service_role;
