-- How far a site is from its first delivered conversion.

-- seen_visit: the first visit of the tracker, with the host it began on. A tick stays for good, and
-- a path can tell who opened it.
create function private.seen_visit(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_strip_nulls(jsonb_build_object('at', s.started_at,
    'page', left(substring(s.landing_url from '^[a-z]+://(?:[^/?#@]*@)?([^/?#@]+)'), 253)))
  from public.sessions s
  where s.site_id = p_site.id and s.visitor_id not like 'system/%' and s.landing_url is not null
  order by s.started_at limit 1
$$;

-- seen_click: the newest visit with a click id, of the last 500.
create function private.seen_click(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('at', s.clicked_at, 'kind', case
    when s.gclid is not null then 'gclid' when s.wbraid is not null then 'wbraid'
    else 'gbraid' end)
  from (
    select x.* from public.sessions x
    where x.site_id = p_site.id order by x.started_at desc limit 500) s
  where num_nonnulls(s.gclid, s.wbraid, s.gbraid) > 0
  order by s.started_at desc limit 1
$$;

-- seen_consent: the first visit with analytics consent since the site asks first, of the last 500.
-- A site that does not ask has nothing to wait for.
create function private.seen_consent(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case when p_site.consent_mode = 'off'
    then jsonb_build_object('at', p_site.consent_set_at, 'isOff', true)
    else (
      select jsonb_build_object('at', s.last_seen_at)
      from (
        select x.* from public.sessions x
        where x.site_id = p_site.id order by x.started_at desc limit 500) s
      where s.last_seen_at >= p_site.consent_set_at
        and 'analytics' = any ((private.newest_choice(s.site_id, s.visitor_id)).scopes)
      order by s.last_seen_at limit 1) end
$$;

-- seen_step: what shows that a step is done; null while nothing does. The test ticks itself.
--   Returns  {at, …}.
create function private.seen_step(p_site public.sites, p_step text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return case p_step
    when 'snippet' then private.seen_visit(p_site)
    when 'clicks' then private.seen_click(p_site)
    when 'consent' then private.seen_consent(p_site)
    when 'calls' then (
      select jsonb_build_object('at', r.at) from private.call_reports r
      where r.site_id = p_site.id and r.result = 'signed' order by r.at limit 1)
    when 'values' then (
      select jsonb_build_object('at', p_site.updated_at)
      where cardinality(p_site.amount_presets) > 0 or exists (   -- or it has sealed amounts
        select from public.sales s
        where s.site_id = p_site.id and s.value_source = 'OPERATOR'))
    when 'actions' then (
      select jsonb_build_object('at', a.updated_at, 'name', a.conversion_name)
      from public.provider_conversion_actions a
      where p_site.oci_sync_method = 'api' and a.site_id = p_site.id
        and a.provider_key = 'google_ads' and a.blocked_at is null
        and a.conversion_name = private.conversion_name(p_site, 'seal'))
    when 'delivery' then case p_site.oci_sync_method
      when 'script' then (
        select jsonb_build_object('at', r.at) from public.script_runs r
        where r.site_id = p_site.id and r.error_code is null order by r.at desc limit 1)
      else (
        select jsonb_build_object('at', c.connected_at) from public.provider_credentials c
        where c.site_id = p_site.id and c.provider_key = 'google_ads') end
    when 'delivered' then (
      select jsonb_build_object('at', coalesce(d.verdict_at, d.uploaded_at), 'order', d.order_id)
      from private.queue_delivered d
      where d.site_id = p_site.id and d.provider_key = 'google_ads' and d.kind = 'CONVERSION'
        and case p_site.oci_sync_method
          when 'script' then d.transport = 'script' else d.verdict = 'CONFIRMED' end
      order by d.uploaded_at limit 1) end;
end
$$;

-- site_setup: every step with its tick, and what the open ones need to know. Ticks what was seen
-- since it was last asked.
--   Safe     to repeat and at once: a tick is written once.
--   Returns  {way, consentMode, steps: [{step, at, facts}], refusedHost, callReports, hasSecret,
--            hasKey, lastEventAt, lastTest}; at is null while a step is open.
--   Callers  owners.
create function public.site_setup(p_public_id text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
  v_step text;
  v_seen jsonb;
begin
  foreach v_step in array private.setup_steps() loop
    continue when exists (select from private.setup_ticks t
      where t.site_id = v_site.id and t.step = private.tick_of(v_site, v_step));
    v_seen := private.seen_step(v_site, v_step);
    if v_seen is not null then
      perform private.write_tick(
        v_site, v_step, (v_seen ->> 'at')::timestamptz, v_seen - 'at');
    end if;
  end loop;
  return jsonb_build_object(
    'way', v_site.oci_sync_method,
    'consentMode', v_site.consent_mode,
    'steps', (
      select jsonb_agg(jsonb_build_object(
        'step', k.step, 'at', t.at, 'facts', coalesce(t.facts, '{}')) order by k.place)
      from unnest(private.setup_steps()) with ordinality k (step, place)
        left join private.setup_ticks t
          on t.site_id = v_site.id and t.step = private.tick_of(v_site, k.step)),
    'refusedHost', private.refused_host(v_site),
    'callReports', private.call_reports_json(v_site.id),
    'hasSecret', exists (select from private.site_secrets x
      where x.site_id = v_site.id and x.sealed is not null),
    'hasKey', exists (select from public.site_api_keys k
      where k.site_id = v_site.id and k.revoked_at is null and 'script' = any (k.scopes)),
    'lastEventAt', (
      select s.last_seen_at from public.sessions s
      where s.site_id = v_site.id order by s.started_at desc limit 1),
    'lastTest', private.last_test_json(v_site));
end
$$;
grant execute on function public.site_setup(text) to authenticated;

-- setup_state: what the pages of setup and connections show, in short, for site_version.
create function private.setup_state(p_site public.sites) returns text
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_array(p_site.updated_at,
    (select s.last_seen_at from public.sessions s
     where s.site_id = p_site.id order by s.started_at desc limit 1),
    (select max(r.at) from public.script_runs r where r.site_id = p_site.id),
    (select jsonb_agg(jsonb_build_array(k.revoked_at, k.scopes, k.scope_used) order by k.id)
     from public.site_api_keys k where k.site_id = p_site.id),
    (select x.rotated_at from private.site_secrets x where x.site_id = p_site.id),
    (select max(r.at) from private.call_reports r where r.site_id = p_site.id),
    (select max(r.first_at) from private.refused_origins r where r.site_id = p_site.id),
    (select count(*) from private.setup_ticks t where t.site_id = p_site.id),
    (select max(t.at) from private.setup_tests t where t.site_id = p_site.id),
    private.delivery_state(p_site),
    private.newest_moments(p_site.id, 'private.queue_delivered', 'verdict_at'),
    (select max(d.uploaded_at) from private.queue_delivered d
     where d.site_id = p_site.id and d.provider_key = 'google_ads'))::text
$$;
