-- A pause: a site hands nothing out for sending until a moment that its owner names. Answers, the
-- recovery sweep and the expiry of clicks go on.

-- is_paused: true while the site's pause lasts. Whoever asks which way a site sends asks this too:
-- open_connections, pass_gate, sendable_signals, export_page and the claims.
create function private.is_paused(p_site public.sites) returns boolean
language sql stable set search_path = ''
as $$ select coalesce(p_site.paused_until > private.current_moment(), false) $$;

-- pause_json: {until, reason} of a pause that lasts, otherwise null.
create function private.pause_json(p_site public.sites) returns jsonb
language sql stable set search_path = ''
as $$
  select case when private.is_paused(p_site) then jsonb_build_object(
    'until', p_site.paused_until, 'reason', p_site.pause_reason) end
$$;

-- check_pause: a pause ends later than now and no later than a click that came now expires.
--   Refuses  400 VALIDATION_FAILED with the field.
create function private.check_pause(p_until timestamptz) returns void
language plpgsql stable set search_path = ''
as $$
begin
  if p_until is null or p_until <= private.current_moment()
     or p_until > private.current_moment() + private.click_life() then
    perform private.refuse_setting('until');
  end if;
end
$$;

-- preview_pause: what a pause until then means for the rows that wait.
--   Returns  {waiting, expiring, inFlight, viewsExpire}. expiring: rows that Google no longer takes
--            when the pause ends; counted up to 10,000. viewsExpire: page views wait three days at
--            most.
--   Refuses  400 VALIDATION_FAILED with the field until.
--   Callers  viewers.
create function public.preview_pause(p_public_id text, p_until timestamptz) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
begin
  perform private.check_pause(p_until);
  return (select jsonb_build_object(
      'waiting', coalesce(sum(t.row_count)
        filter (where t.status = any (private.waiting_states())), 0),
      'inFlight', coalesce(sum(t.row_count) filter (where t.status = 'PROCESSING'), 0))
    from private.queue_totals(array[v_site.id]) t)
    || jsonb_build_object('expiring', (select count(*) from (
      select from public.offline_conversion_queue q
      where q.site_id = v_site.id and q.state = any (private.waiting_states())
        and q.claim_token is null and q.click_expires_at <= p_until limit 10000) x),
      'viewsExpire', v_site.page_views_enabled
        and p_until > private.current_moment() + interval '3 days');
end
$$;
grant execute on function public.preview_pause(text, timestamptz) to authenticated;

-- pause_sending: hands nothing out until then, or goes on now. A pause that stands is replaced.
--   Takes    p_until, null to go on; p_reason, which the screens show.
--   Safe     against a claim at the same moment: a worker's claim shares the provider's lock, so
--            it ends before the pause or sees it; so does a script's, which shares the site's row.
--   Returns  {ok, pause}: as pause_json.
--   Refuses  400 VALIDATION_FAILED with the field until or reason.
--   Callers  owners.
create function public.pause_sending(
  p_public_id text, p_until timestamptz default null, p_reason text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  if p_until is not null then
    perform private.check_pause(p_until);
    if p_reason is null or not private.is_plain_text(p_reason, 200) then
      perform private.refuse_setting('reason');
    end if;
  end if;
  perform private.hold_provider(v_site.id, 'google_ads');
  update public.sites s
    set paused_until = p_until, pause_reason = case when p_until is not null then p_reason end,
        updated_at = private.current_moment()
    where s.id = v_site.id
    returning s.* into v_site;
  return jsonb_build_object('ok', true, 'pause', private.pause_json(v_site));
end
$$;
grant execute on function public.pause_sending(text, timestamptz, text) to authenticated;
