-- The Google Ads Script's side: what it would get now, and what is known of its runs.

-- export_page: what a script would be handed now, without handing it out. Seals first; signals and page views fill the rest of the page.
--   Returns  {site: {publicId, timezone, currency, pageViews, clickMinAgeHours, pageViewName}, seals, signals, moreSeals, moreSignals}.
create function private.export_page(p_site public.sites, p_limit int, p_max_attempts int) returns jsonb
language sql stable security definer set search_path = ''
as $$
  with waiting as materialized (
    select q.* from public.offline_conversion_queue q
    where q.site_id = p_site.id and q.provider_key = 'google_ads' and q.status in ('QUEUED', 'RETRY') and q.kind = 'CONVERSION'
      and q.not_before <= private.current_moment() and (q.next_retry_at is null or q.next_retry_at <= private.current_moment())
      and q.attempt_count - q.attempt_base < p_max_attempts
      and not exists (select from private.held_sales h
        where h.sale_id = q.sale_id and h.provider_key = q.provider_key)
    order by q.next_retry_at nulls first, q.created_at, q.id limit p_limit + 1),
  seals as (
    select jsonb_build_object('id', w.id, 'orderId', w.order_id, 'gclid', s.gclid, 'wbraid', s.wbraid, 'gbraid', s.gbraid,
      'conversionName',
      coalesce(n.google_name, w.conversion_name, private.conversion_name(p_site, 'seal')),
      'conversionTime', w.conversion_time, 'valueCents', s.amount_cents, 'currency', w.currency,
      'isExpired', w.click_expires_at <= private.current_moment()) as seal, w.next_retry_at, w.created_at, w.id
    from waiting w join public.sales s on s.id = w.sale_id and s.status = 'CONFIRMED'
      left join private.action_names n   -- as hand_out
        on n.site_id = w.site_id and n.action = w.conversion_action
          and (w.may_have_arrived or exists (select from public.provider_dispatches d
            where d.sale_id = w.sale_id and d.verdict is distinct from 'REJECTED'))
    order by w.next_retry_at nulls first, w.created_at, w.id limit p_limit),
  signals as (
    select private.signal_row(p_site, g) as signal, row_number() over (order by g.next_retry_at nulls first, g.created_at, g.id) as position
    from public.marketing_signals g where g.id in (select x.id from private.sendable_signals(p_site, p_limit + 1, p_max_attempts) x))
  select jsonb_build_object(
    'site', jsonb_build_object('publicId', p_site.public_id, 'timezone', p_site.timezone, 'currency', p_site.currency, 'pageViews', p_site.page_views_enabled,
      'clickMinAgeHours', p_site.click_min_age_hours,
      'pageViewName', private.conversion_name(p_site, 'page_view')),
    'seals', (select coalesce(jsonb_agg(x.seal order by x.next_retry_at nulls first, x.created_at, x.id), '[]') from seals x),
    'signals', (select coalesce(jsonb_agg(x.signal order by x.position), '[]') from signals x where x.position <= p_limit),
    'moreSeals', (select count(*) > p_limit from waiting), 'moreSignals', (select count(*) > p_limit from signals))
$$;

-- get_export_page: the same for the site's script.
--   Refuses  400 WRONG_SYNC_METHOD on a site that sends by API.
--   Callers  service role only.
create function public.get_export_page(
  p_site_id uuid, p_max_attempts int, p_limit int default 500
) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites;
begin
  select s.* into v_site from public.sites s where s.id = p_site_id;
  if v_site.oci_sync_method is distinct from 'script' then
    perform private.fail(400, 'WRONG_SYNC_METHOD');
  end if;
  return private.export_page(v_site, least(greatest(p_limit, 1), 1000), p_max_attempts);
end
$$;

create function private.mask_clicks(p_rows jsonb) returns jsonb
language sql immutable set search_path = ''
as $$
  select coalesce(jsonb_agg(r || jsonb_build_object('gclid', private.masked_click(r ->> 'gclid'), 'wbraid', private.masked_click(r ->> 'wbraid'),
    'gbraid', private.masked_click(r ->> 'gbraid')) order by n), '[]')
  from jsonb_array_elements(p_rows) with ordinality t (r, n)
$$;

-- preview_export_page: the same for a person who wants to see what would be sent, whichever way the site sends.
--   Click ids are masked: they are for Google.
--   Callers  viewers.
create function public.preview_export_page(
  p_public_id text, p_max_attempts int, p_limit int default 500
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select p || jsonb_build_object('seals', private.mask_clicks(p -> 'seals'), 'signals', private.mask_clicks(p -> 'signals'))
  from private.export_page(private.require_site(p_public_id, 'viewer'), least(greatest(p_limit, 1), 1000), p_max_attempts) p
$$;

-- One row per call of a script, so that an owner sees whether theirs runs. Failures that repeat within an hour are one row.
create table public.script_runs (
  id bigint generated always as identity primary key,
  site_id uuid not null references public.sites (id),
  kind text not null,
  counts jsonb not null default '{}',
  script_version text,
  error_code text,
  times int not null default 1,
  first_at timestamptz not null,
  at timestamptz not null,
  constraint run_kind_is_known check (kind in ('verify', 'export', 'preview', 'ack', 'ack-failed')),
  constraint script_version_is_bounded check (char_length(script_version) <= 20),
  constraint run_error_is_bounded check (char_length(error_code) <= 64)
);
create index script_runs_of_a_site on public.script_runs (site_id, at desc);
create index script_runs_by_age on public.script_runs (at);
alter table public.script_runs enable row level security;

-- record_script_run: note one call. An unknown site is nobody's: nothing is noted.
--   Takes    p_run {kind, counts?, version?, errorCode?}
--   Callers  service role only.
create function public.record_script_run(p_public_id text, p_run jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site_id uuid;
  -- A stranger's word: with another version each time, every failed guess would be a line of its own.
  v_version text := case when p_run ->> 'errorCode' is distinct from 'INVALID_CREDENTIALS' then left(p_run ->> 'version', 20) end;
begin
  select s.id into v_site_id from public.sites s where s.public_id = p_public_id;
  if v_site_id is null then
    return '{"ok": false}';
  end if;
  if p_run ? 'errorCode' then
    update public.script_runs r set times = r.times + 1, at = v_now
      where r.id = (select x.id from public.script_runs x where x.site_id = v_site_id and x.at > v_now - interval '1 hour' and x.kind = p_run ->> 'kind'
                      and x.error_code = left(p_run ->> 'errorCode', 64) and x.script_version is not distinct from v_version order by x.at desc limit 1);
    if found then
      return '{"ok": true}';
    end if;
  end if;
  insert into public.script_runs (site_id, kind, counts, script_version, error_code, first_at, at)
    values (v_site_id, p_run ->> 'kind', coalesce(p_run -> 'counts', '{}'), v_version, left(p_run ->> 'errorCode', 64), v_now, v_now);
  return '{"ok": true}';
end
$$;

-- purge_script_runs: forget runs after 30 days.
--   Returns  {purged}; at most 5,000 a call.
--   Callers  service role only (cron).
create function public.purge_script_runs() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  delete from public.script_runs r where r.id in (
    select x.id from public.script_runs x where x.at < private.current_moment() - interval '30 days' order by x.at limit 5000 for update skip locked);
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;

-- script_status: how a site's script is doing.
--   Returns  {syncMethod, now, hasKey, waiting (counted up to 1,000), becomesDueAt, runs: [the last 50, newest first]}.
--   Callers  owners.
create function public.script_status(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
  v_now timestamptz := private.current_moment();
begin
  return jsonb_build_object('syncMethod', v_site.oci_sync_method, 'now', v_now,
    'hasKey', exists (select from public.site_api_keys k
      where k.site_id = v_site.id and k.revoked_at is null and 'script' = any (k.scopes)),
    'waiting', (select count(*) from (select from public.offline_conversion_queue q where q.site_id = v_site.id and q.provider_key = 'google_ads'
                  and q.status in ('QUEUED', 'RETRY') and q.kind = 'CONVERSION' and q.not_before <= v_now
                  and (q.next_retry_at is null or q.next_retry_at <= v_now) limit 1000) w),
    'runs', (select coalesce(jsonb_agg(jsonb_build_object('kind', r.kind, 'counts', r.counts, 'version', r.script_version, 'errorCode', r.error_code,
               'times', r.times, 'at', r.at) order by r.at desc, r.id desc), '[]')
             from (select x.* from public.script_runs x where x.site_id = v_site.id order by x.at desc, x.id desc limit 50) r));
end
$$;

grant execute on function public.get_export_page(uuid, int, int), public.record_script_run(text, jsonb), public.purge_script_runs() to opsmantik_app, service_role;
grant execute on function public.preview_export_page(text, int, int), public.script_status(text) to authenticated;
