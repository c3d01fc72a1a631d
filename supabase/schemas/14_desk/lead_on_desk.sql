-- needs_you_of: why an open lead waits for somebody: its click runs out within a week, or it is older than the site allows.
-- After 90 days neither Google nor the customer waits any more.
create function private.needs_you_of(p_site public.sites, p_call public.calls) returns text
language sql stable set search_path = ''
as $$
  select case
    when p_call.status not in ('intent', 'qualified', 'meeting') or p_call.called_at < n.now - interval '90 days' then null
    when p_call.marketing_consent and coalesce(p_call.gclid, p_call.wbraid, p_call.gbraid) is not null
      and p_call.clicked_at + interval '90 days' between n.now and n.now + interval '7 days' then 'CLICK_EXPIRES'
    when p_call.called_at < n.now - make_interval(hours => p_site.needs_you_after_hours) then 'WAITING' end
  from (select private.current_moment() as now) n
$$;

-- lead_on_desk: one lead as a row of the desk. The number is masked here, so that no list ever carries it whole.
create function private.lead_on_desk(p_site public.sites, p_call public.calls) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'id', p_call.id, 'channel', p_call.channel, 'phone', private.masked_phone(p_call.phone), 'status', p_call.status, 'version', p_call.version,
    'score', p_call.lead_score, 'points', p_call.score_breakdown, 'calledAt', p_call.called_at, 'pagePath', private.url_path(p_call.page_url),
    'campaign', v.utm ->> 'campaign', 'keyword', v.utm ->> 'term',
    'clickBlock', private.delivery_block_of(p_call), 'clickedAt', p_call.clicked_at, 'clickExpiresAt', p_call.clicked_at + interval '90 days',
    'needsYou', private.needs_you_of(p_site, p_call),
    'visitsBefore', (select count(*) from public.sessions o where o.site_id = v.site_id and o.visitor_id = v.visitor_id and o.started_at < v.started_at),
    'changedAt', p_call.status_at, 'changedBy', private.actor_name(f.actor_kind, f.actor_id), 'changedByYou', coalesce(f.actor_id = auth.uid(), false),
    'undoUntil', case when f.id is not null and not f.facts ? 'undo' and p_call.status_at > private.current_moment() - interval '10 minutes'
                      then p_call.status_at + interval '10 minutes' end,
    'sale', case when s.id is not null then jsonb_build_object('id', s.id, 'version', s.version, 'status', s.status, 'amountCents', s.amount_cents,
      'currency', s.currency, 'isPredicted', s.value_source = 'PREDICTED', 'deliveryBlock', s.delivery_block, 'note', s.note,
      'adjustableUntil', s.occurred_at + interval '54 days', 'atGoogle', private.standing_json(s.id)) end,
    'delivery', case when q.id is not null then jsonb_build_object('status', q.status, 'notBefore', greatest(q.not_before, q.next_retry_at),
      'errorCode', q.provider_error_code, 'uploadedAt', q.uploaded_at, 'verdict', d.verdict,
      'pendingAdjustment', (select a.kind from public.offline_conversion_queue a where a.sale_id = s.id and a.kind <> 'CONVERSION'
                            and a.status in ('QUEUED', 'RETRY', 'PROCESSING') limit 1)) end)
  from (select 1) one
  left join public.sessions v on v.id = p_call.session_id
  left join public.transition_proofs f on f.id = p_call.last_proof_id
  left join lateral (select x.* from public.sales x where x.call_id = p_call.id order by x.status = 'CONFIRMED' desc, x.created_at desc limit 1) s on true
  left join lateral (select x.* from public.offline_conversion_queue x where x.sale_id = s.id and x.kind = 'CONVERSION'
                     order by x.created_at desc limit 1) q on true
  left join lateral (select x.verdict from public.provider_dispatches x where x.sale_id = q.sale_id and x.queue_id = q.id order by x.dispatched_at desc limit 1) d on true
$$;

-- leads_on_desk: rows of the desk, in the order given.
create function private.leads_on_desk(p_site public.sites, p_calls public.calls[]) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(private.lead_on_desk(p_site, p_calls[i]) order by i), '[]') from generate_series(1, cardinality(p_calls)) i
$$;
