-- What happens to leads and sales when a visitor withdraws consent to marketing, or gives it again.

-- withdraw_marketing: applies a choice without marketing to every visit of the visitor. Nothing
-- more is sent to Google, and whatever we may keep only with consent is deleted. What Google
-- already has stays. Called with the visitor locked. Locks are taken in the order that sealing
-- takes them: calls, sales, queue rows.
create function private.withdraw_marketing(p_site_id uuid, p_visitor_id text) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_session_ids uuid[];
  v_call_ids uuid[];
  v_gclids text[];
  v_wbraids text[];
  v_gbraids text[];
begin
  select array_agg(t.gclid), array_agg(t.wbraid), array_agg(t.gbraid)
    into v_gclids, v_wbraids, v_gbraids
    from (
      select s.gclid, s.wbraid, s.gbraid from public.sessions s
      where s.site_id = p_site_id and s.visitor_id = p_visitor_id and s.clicked_at is not null
      union
      select c.gclid, c.wbraid, c.gbraid from public.calls c
      where c.site_id = p_site_id and c.visitor_id = p_visitor_id
        and c.clicked_at is not null) t;
  v_session_ids := array(
    select s.id from public.sessions s
    where s.site_id = p_site_id and s.visitor_id = p_visitor_id and s.marketing_consent);
  update public.sessions s
    set marketing_consent = false, gclid = null, wbraid = null, gbraid = null, clicked_at = null,
        landing_url = private.without_click_ids(s.landing_url),
        referrer = private.without_click_ids(s.referrer)
    where s.id = any (v_session_ids);
  update private.events e set url = private.without_click_ids(e.url)
    where e.session_id = any (v_session_ids) and e.url ~* '(clid|braid)(=|%3D)';
  -- Failed events too: they may wait for an operator for a long time.
  update public.ingest_fallback_buffer b set payload = private.without_marketing(b.payload)
    where b.status = 'FAILED' and b.site_id = p_site_id
      and b.payload ->> 'visitor' = p_visitor_id;
  v_call_ids := array(
    select c.id from public.calls c
    where c.site_id = p_site_id and c.visitor_id = p_visitor_id order by c.id for update);
  update public.calls c
    set marketing_consent = false, gclid = null, wbraid = null, gbraid = null, clicked_at = null,
        click_is_signed = false, phone = null, caller_hash = null, caller_key_id = null,
        page_url = private.without_click_ids(c.page_url), updated_at = private.current_moment()
    where c.id = any (v_call_ids) and c.marketing_consent;
  perform private.silence_calls(v_call_ids);
  -- Sales from elsewhere that came with a click of this visitor and happened before the choice. One
  -- that belongs to a lead follows the choice of that lead's visitor: others can come with the same
  -- click id, in a link that was passed on.
  perform private.silence_sales(array(
    select s.id from public.sales s
    where s.site_id = p_site_id and s.call_id is null
      and (s.gclid = any (v_gclids) or s.wbraid = any (v_wbraids) or s.gbraid = any (v_gbraids))
      and s.occurred_at < (private.newest_choice(p_site_id, p_visitor_id)).chosen_at));
end
$$;

-- silence_calls: sends nothing more of these calls to Google. Signals end, sales are blocked and
-- lose what identifies the customer, and waiting rows are closed. Rows in flight are closed when
-- their answer arrives.
create function private.silence_calls(p_call_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  if cardinality(p_call_ids) = 0 then
    return;
  end if;
  update public.marketing_signals g
    set dispatch_status = 'FAILED', last_error = 'NO_CONSENT', next_retry_at = null,
        provider_error_code = null, provider_error_category = null,
        updated_at = private.current_moment()
    where g.call_id = any (p_call_ids)
      and (g.dispatch_status = 'PENDING'
        or (g.dispatch_status = 'FAILED' and g.provider_error_category = 'AUTH'));
  perform private.silence_sales(array(
    select s.id from public.sales s where s.call_id = any (p_call_ids)
    union
    select s.id from public.sales s where s.sibling_call_id = any (p_call_ids)));
end
$$;

-- silence_sales: the same for sales.
create function private.silence_sales(p_sale_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
  v_is_sent boolean;
begin
  for v_sale in
    select s.* from public.sales s where s.id = any (p_sale_ids) order by s.id for update
  loop
    -- What Google has stays. Its order id is enough to correct it, so we delete the identifiers
    -- here too.
    -- This waits for answers under way: what they delivered is seen below.
    perform private.forget_identifiers(array[v_sale.id]);
    v_is_sent := exists (select from private.standing_dispatches d where d.sale_id = v_sale.id);
    update public.sales s
      set delivery_block = case when v_is_sent then s.delivery_block else 'NO_CONSENT' end,
          gclid = null, wbraid = null, gbraid = null, clicked_at = null, customer_hash = null,
          email_hash = null, caller_hash = null, caller_key_id = null,
          note = case when v_is_sent then s.note end, updated_at = private.current_moment()
      where s.id = v_sale.id;
    perform private.act(('system', null)::private.actor, 'CONSENT_WITHDRAWN');
    -- This closes what waits. What Google may have can still be taken back.
    perform private.follow_ledger(v_sale.id);
  end loop;
end
$$;

-- use_late_click: a call's click became known after the call was judged without one. Its signals
-- are sent now, and a sale that was blocked without a click is queued. Called with the call
-- locked.
create function private.use_late_click(p_call public.calls) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_stage text := case p_call.status
    when 'qualified' then 'SEAL_PENDING'
    when 'meeting' then 'MEETING_BOOKED' end;
  v_sale public.sales;
begin
  if p_call.status <> all (private.ended_lead_states()) then
    perform private.emit_signal(p_call.id, 'INTENT_CAPTURED', p_call.called_at);
    if v_stage is not null then
      perform private.emit_signal(p_call.id, v_stage, p_call.status_at);
    end if;
  end if;
  for v_sale in
    select s.* from public.sales s
    where s.call_id = p_call.id and s.delivery_block = 'NO_CLICK_ID' order by s.id for update
  loop
    update public.sales s
      set gclid = p_call.gclid, wbraid = p_call.wbraid, gbraid = p_call.gbraid,
          clicked_at = p_call.clicked_at,
          delivery_block = private.delivery_block_of(p_call), updated_at = private.current_moment()
      where s.id = v_sale.id;
    if v_sale.status = 'CONFIRMED' then
      perform private.act(('system', null)::private.actor, 'CLICK_FOUND');
      perform private.follow_ledger(v_sale.id);
    end if;
  end loop;
end
$$;

-- use_better_click: the click of a call was replaced by one that we trust more. What Google has not
-- been sent yet goes with the new one; what was ever handed out stays as it went. Called with the
-- call locked.
create function private.use_better_click(p_call public.calls, p_old public.calls) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sale public.sales;
begin
  update public.marketing_signals g
    set conversion_value =
          private.decayed_value(s.default_aov_cents, p_call.clicked_at, g.occurred_at),
        updated_at = v_now
    from public.sites s
    where g.call_id = p_call.id and s.id = g.site_id and g.attempt_count = 0;
  for v_sale in
    select s.* from public.sales s
    where s.call_id = p_call.id and s.delivery_block is null
      and (s.gclid, s.wbraid, s.gbraid)
        is not distinct from (p_old.gclid, p_old.wbraid, p_old.gbraid)
    order by s.id for update
  loop
    -- Waits for a claim or an answer under way: what they did is seen below.
    perform from private.queue_open q where q.sale_id = v_sale.id order by q.id for update;
    continue when exists (select from public.offline_conversion_queue q
        where q.sale_id = v_sale.id and q.attempt_count > 0)
      or exists (select from public.provider_dispatches d where d.sale_id = v_sale.id);
    update public.sales s
      set gclid = p_call.gclid, wbraid = p_call.wbraid, gbraid = p_call.gbraid,
          clicked_at = p_call.clicked_at, updated_at = v_now
      where s.id = v_sale.id;
    update public.offline_conversion_queue q
      set click_expires_at = p_call.clicked_at + private.click_life(),
          not_before = greatest(q.not_before,
            p_call.clicked_at + make_interval(hours => t.click_min_age_hours)),
          updated_at = v_now
      from public.sites t
      where q.sale_id = v_sale.id and t.id = q.site_id and q.kind = 'CONVERSION'
        and q.state = any (private.waiting_states()) and q.claim_token is null;
  end loop;
end
$$;
