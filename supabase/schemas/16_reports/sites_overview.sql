-- Every site of a person at a glance, for whoever looks after many.

-- delivery_health: one word for how a site's script or API stands, the most urgent first, and since
-- when or when it last ran.
--   Returns  {way, code, at}. code: PAUSED; of a script NO_KEY, NEVER_RAN, FAILED, SILENT (for more
--            than 25 hours) or WELL; of an API NOT_CONNECTED, BLOCKED, CIRCUIT, FAILED or WELL.
create function private.delivery_health(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('way', p_site.oci_sync_method) || case
    when private.is_paused(p_site)
      then jsonb_build_object('code', 'PAUSED', 'at', p_site.paused_until)
    when p_site.oci_sync_method = 'script' then (
      select jsonb_build_object('at', r.at, 'code', case
        when r.at is null then case when exists (select from public.site_api_keys k
          where k.site_id = p_site.id and k.revoked_at is null) then 'NEVER_RAN' else 'NO_KEY' end
        when r.error_code is not null then 'FAILED'
        when r.at < private.current_moment() - interval '25 hours' then 'SILENT'
        else 'WELL' end)
      from (select 1) one left join lateral (
        select x.at, x.error_code from public.script_runs x where x.site_id = p_site.id
        order by x.at desc, x.id desc limit 1) r on true)
    else (
      select jsonb_build_object('at', coalesce(h.blocked_at, t.served_at), 'code', case
        when c.site_id is null then 'NOT_CONNECTED'
        when h.blocked_at is not null then 'BLOCKED'
        when h.state <> 'CLOSED' then 'CIRCUIT'
        when h.last_failure_at > coalesce(h.last_success_at, '-infinity') then 'FAILED'
        else 'WELL' end)
      from (select 1) one
        left join public.provider_credentials c
          on c.site_id = p_site.id and c.provider_key = 'google_ads'
        left join public.provider_health_state h
          on h.site_id = p_site.id and h.provider_key = 'google_ads'
        left join private.delivery_turns t on t.site_id = p_site.id
          and t.provider_key = 'google_ads' and t.pipeline = 'seals') end
$$;

-- sealed_by_day: what was sealed on each of the last 14 days of the site's calendar, oldest first,
-- in the site's currency.
create function private.sealed_by_day(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_agg(coalesce(w.cents, 0) order by d.day)
  from generate_series(private.today_at(p_site) - 13, private.today_at(p_site),
      interval '1 day') d (day)
    left join (
      select (c.status_at at time zone p_site.timezone)::date as day, sum(s.amount_cents) as cents
      from public.calls c
        join public.sales s on s.call_id = c.id and s.status = 'CONFIRMED'
          and s.currency = p_site.currency
      where c.site_id = p_site.id and c.status = 'sealed'
        and c.status_at >= private.start_of_day(p_site, private.today_at(p_site) - 13)
      group by 1) w on w.day = d.day
$$;

-- sites_overview: the figures of each of the caller's open sites.
--   Returns  [{siteId, lastEventAt, leadsToday, sealedByDay (14 days, cents), waiting, failed,
--            needsYou, health}]. failed: without what was skipped on purpose; needsYou is counted
--            up to 500.
--   Callers  signed-in users.
create function public.sites_overview() returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'siteId', s.public_id,
      'lastEventAt', (
        select max(e.created_at) from public.ingest_idempotency e where e.site_id = s.id),
      'leadsToday', (
        select count(*) from public.calls c where c.site_id = s.id
          and c.called_at >= private.start_of_day(s, private.today_at(s))),
      'sealedByDay', private.sealed_by_day(s),
      'waiting', q.waiting,
      'failed', q.failed,
      'needsYou', (
        select count(*) from private.matching_leads(s, '{"view": "needs_you"}', 500)),
      'health', private.delivery_health(s))
    order by s.name, s.public_id), '[]')
  from public.site_members m
    join public.sites s on s.id = m.site_id and s.archived_at is null
    cross join lateral (
      select coalesce(sum(t.row_count)
          filter (where t.status = any (private.waiting_states())), 0) as waiting,
        coalesce(sum(t.row_count) filter (where t.status = 'FAILED'
          and t.category is distinct from 'DETERMINISTIC_SKIP'), 0) as failed
      from private.queue_totals(array[s.id]) t) q
  where m.user_id = auth.uid()
$$;
grant execute on function public.sites_overview() to authenticated;
