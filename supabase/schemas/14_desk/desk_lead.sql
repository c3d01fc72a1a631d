-- One lead on the desk: its history, its ledger, what was sent to Google, and the visits before it.

-- lead_history: every proven move of a lead and its sales, oldest first.
create function private.lead_history(p_call_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'proofId', p.id,
      'at', p.occurred_at,
      'contract', p.contract,
      'from', p.from_state,
      'to', p.to_state,
      'by', private.actor_as_of(p.actor_kind, p.actor_id, p.occurred_at),
      'byYou', coalesce(p.actor_id = auth.uid(), false),
      'isUndo', p.facts ? 'undo',
      'note', private.readable_note(p.site_id, n.note),
      'amountCents', (p.facts ->> 'amountCents')::bigint,
      'currency', p.facts ->> 'currency')
    order by p.occurred_at, p.id), '[]')
  from public.transition_proofs p
    left join private.proof_notes n on n.proof_id = p.id
  where p.entity_id = p_call_id
    or (p.contract = 'sale'
      and p.entity_id in (select s.id from public.sales s where s.call_id = p_call_id))
$$;

-- lead_ledger: the snapshots of a lead's sales, oldest first.
create function private.lead_ledger(p_call_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'id', r.id,
      'at', r.created_at,
      'kind', r.kind,
      'amountCents', r.amount_cents,
      'deltaCents', r.delta_cents,
      'currency', r.currency,
      'isPredicted', r.value_source = 'PREDICTED',
      'by', private.actor_as_of(r.actor_kind, r.actor_id, r.created_at),
      'byYou', coalesce(r.actor_id = auth.uid(), false))
    order by r.created_at, r.sequence), '[]')
  from public.revenue_snapshots r
    join public.sales s on s.id = r.sale_id
  where s.call_id = p_call_id
$$;

-- lead_deliveries: what was sent to Google of a lead's sales, and its verdicts.
create function private.lead_deliveries(p_call_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'id', d.id,
      'at', d.dispatched_at,
      'kind', d.kind,
      'transport', d.transport,
      'amountCents', d.value_cents,
      'currency', d.currency,
      'verdict', d.verdict,
      'verdictAt', d.verdict_at)
    order by d.dispatched_at, d.id), '[]')
  from public.provider_dispatches d
    join public.sales s on s.id = d.sale_id
  where s.call_id = p_call_id
$$;

-- visit_events: the first 100 events of a visit.
create function private.visit_events(p_visit public.sessions) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'at', e.happened_at,
      'action', e.action,
      'isLead', e.category = 'conversion',
      'value', e.value,
      'path', private.url_path(e.url))
    order by e.happened_at, e.id), '[]')
  from (
    select x.* from private.events x
    where x.session_id = p_visit.id and x.received_at
      between p_visit.started_at and p_visit.last_seen_at + private.event_arrival_window()
    order by x.happened_at, x.id limit 100) e
$$;

-- lead_visits: the visitor's last ten visits up to the day after the lead, each with its events.
-- isCleared: its events were erased or are past their time.
create function private.lead_visits(p_call public.calls) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'startedAt', v.started_at,
      'clickedAt', v.clicked_at,
      'isReturn', v.returning_ad_user,
      'campaign', v.utm ->> 'campaign',
      'keyword', v.utm ->> 'term',
      'device', v.device,
      'city', v.city,
      'country', v.country,
      'isCleared', e.events = '[]' and (v.visitor_id like 'erased-%' or v.started_at
        < private.cleared_until(private.whole_installation(), 'events')),
      'events', e.events)
    order by v.started_at), '[]')
  from (
    select o.* from public.sessions s
      join public.sessions o on o.site_id = s.site_id and o.visitor_id = s.visitor_id
    where s.id = p_call.session_id and o.started_at <= p_call.called_at + interval '1 day'
    order by o.started_at desc limit 10) v
    cross join lateral (select private.visit_events(v) as events) e
$$;

-- lead_choices: the last 20 times the visitor of a lead gave consent or withdrew it, oldest first.
create function private.lead_choices(p_call public.calls) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'at', c.chosen_at, 'scopes', to_jsonb(c.scopes), 'path', private.url_path(c.page_url))
    order by c.chosen_at, c.id), '[]')
  from (
    select x.* from public.consent_choices x
    where x.site_id = p_call.site_id and x.visitor_id = p_call.visitor_id
    order by x.chosen_at desc, x.id desc limit 20) c
$$;

-- desk_lead: one lead with its journey, ledger, deliveries, history and the person's other leads.
-- Only operators get the whole number, to call back.
--   Refuses  404 NOT_FOUND for a lead of another site.
--   Callers  viewers.
create function public.desk_lead(p_public_id text, p_call_id uuid) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_is_operator boolean := public.has_site_role(v_site.id, 'operator');
  v_call public.calls;
begin
  select c.* into v_call from public.calls c where c.id = p_call_id and c.site_id = v_site.id;
  if v_call.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return private.lead_json(v_site, v_call) || jsonb_build_object(
    'asOf', private.current_moment(),
    'fullPhone', case when v_is_operator then v_call.phone end,
    'dialNumber', case when v_is_operator then private.e164(v_site, v_call.phone) end,
    'isErased', v_call.visitor_id like 'erased-%',
    'clickKind', case
      when v_call.gclid is not null then 'gclid'
      when v_call.gbraid is not null then 'gbraid'
      when v_call.wbraid is not null then 'wbraid' end,
    'signalWaits', private.awaits_person(v_call) and v_site.signals_enabled and exists (
      select from public.marketing_signals g
      where g.call_id = v_call.id and g.dispatch_status = 'PENDING'),
    'visits', private.lead_visits(v_call),
    'choices', private.lead_choices(v_call),
    'history', private.lead_history(v_call.id),
    'ledger', private.lead_ledger(v_call.id),
    'deliveries', private.lead_deliveries(v_call.id),
    'siblings', private.leads_of_person(v_call));
end
$$;
grant execute on function public.desk_lead(text, uuid) to authenticated;
