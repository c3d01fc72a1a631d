-- A lead as a row of the desk.

-- lead_open_for: how long an open lead waits. After that neither Google nor the customer does.
create function private.lead_open_for() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '90 days' $$;

-- needs_you_of: why an open lead needs somebody: its click expires within a week, or it is older
-- than the site allows. Null for any other lead. In plpgsql, so that its plan is kept from row to
-- row.
create function private.needs_you_of(p_site public.sites, p_call public.calls) returns text
language plpgsql stable set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  return case
    when p_call.status <> all (private.open_lead_states())
      or p_call.called_at < v_now - private.lead_open_for() then null
    when p_call.marketing_consent
      and coalesce(p_call.gclid, p_call.wbraid, p_call.gbraid) is not null
      and p_call.clicked_at + private.click_life() between v_now and v_now + interval '7 days'
      then 'CLICK_EXPIRES'
    when p_call.called_at < v_now - make_interval(hours => p_site.needs_you_after_hours)
      then 'WAITING' end;
end
$$;

-- lead_json: one lead as a row of the desk. The number is masked here, so that no list ever holds
-- the whole number; the name is for operators.
create function private.lead_json(p_site public.sites, p_call public.calls) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'id', p_call.id,
    'channel', p_call.channel,
    'phone', private.masked_phone(p_call.phone),
    'name', private.readable_note(p_call.site_id, p_call.contact_name),
    'status', p_call.status,
    'version', p_call.version,
    'score', p_call.lead_score,
    'points', p_call.score_breakdown,
    'calledAt', p_call.called_at,
    'pagePath', private.url_path(p_call.page_url),
    'campaign', v.utm ->> 'campaign',
    'keyword', v.utm ->> 'term',
    'clickBlock', private.delivery_block_of(p_call),
    'clickedAt', p_call.clicked_at,
    'clickExpiresAt', p_call.clicked_at + private.click_life(),
    'needsYou', private.needs_you_of(p_site, p_call),
    'visitsBefore', (
      select count(*) from public.sessions o
      where o.site_id = v.site_id and o.visitor_id = v.visitor_id
        and o.started_at < v.started_at),
    'changedAt', p_call.status_at,
    'changedBy', private.actor_as_of(f.actor_kind, f.actor_id, f.occurred_at),
    'changedByYou', coalesce(f.actor_id = auth.uid(), false),
    'undo', case when greatest(p_call.status_at, s.updated_at)
        > private.current_moment() - private.undo_window()
      then private.undo_json(p_call) end,
    'sale', case when s.id is not null then jsonb_build_object(
      'id', s.id,
      'version', s.version,
      'status', s.status,
      'amountCents', s.amount_cents,
      'currency', s.currency,
      'isPredicted', s.value_source = 'PREDICTED',
      'deliveryBlock', s.delivery_block,
      'note', private.readable_note(s.site_id, s.note),
      'adjustableUntil', s.occurred_at + private.adjustments_end(),
      'atGoogle', private.standing_json(s.id)) end,
    'delivery', case when q.id is not null then jsonb_build_object(
      'status', q.status,
      'isNotSent', q.status = 'FAILED' and q.provider_error_category = 'DETERMINISTIC_SKIP',
      'notBefore', greatest(
        q.not_before, case when q.claim_token is null then q.next_retry_at end),
      'errorCode', q.provider_error_code,
      'uploadedAt', q.uploaded_at,
      'verdict', (
        select d.verdict from public.provider_dispatches d
        where d.sale_id = q.sale_id and d.queue_id = q.id
        order by d.dispatched_at desc limit 1),
      'pendingAdjustment', (
        select a.kind from public.offline_conversion_queue a
        where a.sale_id = s.id and a.kind <> 'CONVERSION'
          and a.state = any (private.waiting_states())
        limit 1)) end)
  from (select 1) one
    left join public.sessions v on v.id = p_call.session_id
    left join public.transition_proofs f on f.id = p_call.last_proof_id
    left join lateral (
      select x.* from public.sales x
      where x.call_id = p_call.id
      order by x.status = 'CONFIRMED' desc, x.created_at desc limit 1) s on true
    left join lateral (
      select x.* from public.offline_conversion_queue x
      where x.sale_id = s.id and x.kind = 'CONVERSION'
      order by x.created_at desc limit 1) q on true
$$;

-- leads_json: rows of the desk, in the order given.
create function private.leads_json(p_site public.sites, p_calls public.calls[]) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(private.lead_json(p_site, p_calls[i]) order by i), '[]')
  from generate_series(1, cardinality(p_calls)) i
$$;
