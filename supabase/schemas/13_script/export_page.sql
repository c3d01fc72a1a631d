-- What the Google Ads Script would send now.

-- export_page: what a script would claim now, without claiming it. Seals come first; signals and
-- page views fill the rest of the page.
--   Returns  {site: {siteId, timezone, currency, pageViews, clickMinAgeHours, pageViewName,
--            pausedUntil}, seals, signals, moreSeals, moreSignals}. Nothing while the site is
--            paused: pausedUntil says until when.
create function private.export_page(
  p_site public.sites, p_limit int, p_max_attempts int
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  with waiting as materialized (
    select q.*, coalesce(q.next_retry_at, '-infinity') as eligible_at
    from public.offline_conversion_queue q
    where q.site_id = p_site.id and not private.is_paused(p_site) and q.provider_key = 'google_ads'
      and q.state = any (private.waiting_states()) and q.claim_token is null
      and q.kind = 'CONVERSION'
      and q.not_before <= private.current_moment()
      and coalesce(q.next_retry_at, '-infinity') <= private.current_moment()
      and q.attempt_count - q.attempt_base < p_max_attempts
      and not exists (select from private.held_sales h
        where h.sale_id = q.sale_id and h.provider_key = q.provider_key)
    order by coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id limit p_limit + 1),
  seals as (
    select w.eligible_at, w.created_at, w.id, jsonb_build_object(
      'id', w.id,
      'orderId', w.order_id,
      'gclid', s.gclid,
      'wbraid', s.wbraid,
      'gbraid', s.gbraid,
      'conversionName', coalesce(
        n.google_name, w.conversion_name, private.conversion_name(p_site, 'seal')),
      'conversionTime', w.conversion_time,
      'valueCents', s.amount_cents,
      'currency', w.currency,
      'isExpired', w.click_expires_at <= private.current_moment()) as seal
    from waiting w join public.sales s on s.id = w.sale_id and s.status = 'CONFIRMED'
      left join private.action_names n   -- as hand_out
        on n.site_id = w.site_id and n.action = w.conversion_action
          and (w.may_have_arrived or exists (select from public.provider_dispatches d
            where d.sale_id = w.sale_id and d.verdict is distinct from 'REJECTED'))
    order by w.eligible_at, w.created_at, w.id limit p_limit),
  signals as (
    select private.signal_json(p_site, g) as signal,
      row_number() over (order by g.next_retry_at nulls first, g.created_at, g.id) as position
    from public.marketing_signals g
    where g.id in (
      select x.id from private.script_signals(p_site.id, p_limit + 1, p_max_attempts) x (id)))
  select jsonb_build_object(
    'site', jsonb_build_object(
      'siteId', p_site.public_id,
      'timezone', p_site.timezone,
      'currency', p_site.currency,
      'pausedUntil', private.pause_json(p_site) -> 'until',
      'pageViews', p_site.page_views_enabled and not private.is_paused(p_site),
      'clickMinAgeHours', p_site.click_min_age_hours,
      'pageViewName', private.conversion_name(p_site, 'page_view')),
    'seals', (
      select coalesce(
        jsonb_agg(x.seal order by x.eligible_at, x.created_at, x.id), '[]')
      from seals x),
    'signals', (
      select coalesce(jsonb_agg(x.signal order by x.position), '[]')
      from signals x where x.position <= p_limit),
    'moreSeals', (select count(*) > p_limit from waiting),
    'moreSignals', (select count(*) > p_limit from signals))
$$;

-- get_export_page: export_page for the site's script.
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
grant execute on function public.get_export_page(uuid, int, int) to opsmantik_app, service_role;

-- mask_clicks: the same rows in the same order, with their click ids masked.
create function private.mask_clicks(p_rows jsonb) returns jsonb
language sql immutable set search_path = ''
as $$
  select coalesce(jsonb_agg(r || jsonb_build_object(
      'gclid', private.masked_click(r ->> 'gclid'),
      'wbraid', private.masked_click(r ->> 'wbraid'),
      'gbraid', private.masked_click(r ->> 'gbraid'))
    order by n), '[]')
  from jsonb_array_elements(p_rows) with ordinality t (r, n)
$$;

-- preview_export_page: export_page for a person, whichever way the site sends. Click ids are
-- masked: only Google needs them.
--   Callers  viewers.
create function public.preview_export_page(
  p_public_id text, p_max_attempts int, p_limit int default 500
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select p || jsonb_build_object(
    'seals', private.mask_clicks(p -> 'seals'), 'signals', private.mask_clicks(p -> 'signals'))
  from private.export_page(private.require_site(p_public_id, 'viewer'),
    least(greatest(p_limit, 1), 1000), p_max_attempts) p
$$;
grant execute on function public.preview_export_page(text, int, int) to authenticated;
