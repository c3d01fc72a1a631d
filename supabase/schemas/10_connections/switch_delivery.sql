-- Switching a site's delivery between its script and Google's APIs.

-- corrections_of_script: counts the waiting corrections that an API would send for conversions that
-- a script sent. Google may not find those under the chosen action.
--   Returns  {correctionsOfScript}.
create function private.corrections_of_script(p_site_id uuid, p_to text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('correctionsOfScript', count(*))
  from public.offline_conversion_queue q
    join private.standing_dispatches d
      on d.sale_id = q.sale_id and d.provider_key = q.provider_key and d.transport = 'script'
  where q.site_id = p_site_id and q.kind <> 'CONVERSION'
    and q.state = any (private.waiting_states()) and q.claim_token is null
    and q.by_hand_reason is null and p_to = 'api'
$$;

-- preview_delivery_switch: what a switch would mean for the rows that wait.
--   Takes    p_to script or api.
--   Returns  {waiting, inFlight, correctionsOfScript, released, adjustmentsByHand, pageViewsStop,
--            missingActions, connected}. released: rows, corrections included, that the API was
--            refused access for and the script then sends. missingActions: names that an API would
--            send nothing under. adjustmentsByHand: corrections that a person makes after the
--            switch; all of them for a script, which cannot correct, else those no API can make.
--            Page views go by script only.
--   Callers  owners.
create function public.preview_delivery_switch(p_public_id text, p_to text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
  v_released uuid[];
begin
  if p_to is null or p_to not in ('script', 'api') then
    perform private.refuse_setting('to');
  end if;
  v_released := array(
    select j.id
    from private.judge_queue_rows(v_site.id, 'RETRY_SELECTED', null,
      private.refused_rows(v_site.id, 'google_ads'), null) j
    where p_to = 'script' and j.skipped is null);
  return (select jsonb_build_object(
      'waiting', coalesce(sum(t.row_count) 
        filter (where t.status = any (private.waiting_states())), 0),
      'inFlight', coalesce(sum(t.row_count) filter (where t.status = 'PROCESSING'), 0))
    from private.queue_totals(array[v_site.id]) t)
    || private.corrections_of_script(v_site.id, p_to)
    || jsonb_build_object(
      'adjustmentsByHand', (
        select count(*) from public.offline_conversion_queue q
        where q.site_id = v_site.id and q.kind <> 'CONVERSION'
          and (q.status = any (private.waiting_states()) or q.id = any (v_released))
          and (p_to = 'script' or q.by_hand_reason is not null)),
      'released', cardinality(v_released),
      'pageViewsStop', p_to = 'api' and v_site.page_views_enabled,
      'missingActions', case p_to when 'api' then private.missing_actions(v_site) else '[]' end,
      'connected', exists (select from public.provider_credentials c
        where c.site_id = v_site.id and c.provider_key = 'google_ads'));
end
$$;
grant execute on function public.preview_delivery_switch(text, text) to authenticated;

-- switch_delivery: sends a site's conversions by its script from now on, or by Google's APIs. Rows
-- in flight are answered by whoever claimed them; an order id is one conversion on either
-- transport. A switch to the script requeues the rows that the API was refused access for.
--   Safe     against a claim at the same moment: it comes before the switch or claims nothing.
--   Returns  {ok, from, to}.
--   Refuses  409 NOT_CONNECTED for the API without credentials.
--   Callers  owners.
create function public.switch_delivery(p_public_id text, p_to text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
  v_now timestamptz := private.current_moment();
  v_from text;
begin
  if p_to is null or p_to not in ('script', 'api') then
    perform private.refuse_setting('to');
  end if;
  if private.hold_provider(v_site.id, 'google_ads') is null and p_to = 'api' then
    perform private.fail(409, 'NOT_CONNECTED');
  end if;
  insert into public.provider_health_state (site_id, provider_key, updated_at)
    values (v_site.id, 'google_ads', v_now) on conflict do nothing;
  if p_to = 'script' then
    perform private.requeue_refused(v_site.id, 'google_ads', private.user_actor());
  end if;
  select s.oci_sync_method into v_from from public.sites s where s.id = v_site.id for no key update;
  if v_from <> p_to then
    update public.sites s set oci_sync_method = p_to, updated_at = v_now where s.id = v_site.id;
  end if;
  return jsonb_build_object('ok', true, 'from', v_from, 'to', p_to);
end
$$;
grant execute on function public.switch_delivery(text, text) to authenticated;
