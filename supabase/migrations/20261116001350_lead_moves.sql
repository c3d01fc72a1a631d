-- Moves of leads and sales, and what takes them back. Locks are taken in the order that sealing takes them.

-- move_call: one legal move of a call, with all that follows from it.
--   Takes    p_args {id, to, expectedVersion?, reason?, isUndo?, requestHash?} and for a seal {amountCents?, currency?, note?, separateSale?}
--   Refuses  409 STALE_VERSION with what changed, 409 ILLEGAL_MOVE with what is allowed.
--   Returns  {ok, from, to, contract_version, proof_id, version, saleId}.
create function private.move_call(p_site public.sites, p_actor private.actor, p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_call public.calls;
  v_sale public.sales;
  v_to text := p_args ->> 'to';
  v_version text;
  v_proof_id uuid;
begin
  select c.* into v_call from public.calls c where c.id = (p_args ->> 'id')::uuid and c.site_id = p_site.id for update;
  if v_call.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if v_call.version <> coalesce((p_args ->> 'expectedVersion')::int, v_call.version) then
    perform private.fail(409, 'STALE_VERSION', private.last_change(v_call));
  end if;
  v_version := private.require_move('call', v_call.status, v_to, coalesce((p_args ->> 'isUndo')::boolean, false));
  if v_to = 'sealed' then
    v_sale := private.seal_sale(p_site, p_actor, v_call, p_args);
  elsif v_call.status = 'sealed' then
    select s.* into v_sale from public.sales s where s.call_id = v_call.id and s.status = 'CONFIRMED';
    v_sale := private.end_sale(v_sale.id, p_actor);
  end if;
  perform private.follow_stages(v_call, v_to, coalesce((p_args ->> 'isUndo')::boolean, false));
  v_proof_id := private.prove(p_site.id, p_actor, jsonb_build_object('contract', 'call', 'contractVersion', v_version, 'entityId', v_call.id,
    'from', v_call.status, 'to', v_to, 'note', p_args ->> 'reason', 'requestHash', p_args ->> 'requestHash',
    'facts', jsonb_build_object('version', v_call.version + 1, 'saleId', v_sale.id, 'amountCents', v_sale.amount_cents, 'currency', v_sale.currency,
      'valueSource', v_sale.value_source, 'deliveryBlock', v_sale.delivery_block, 'undo', case when (p_args ->> 'isUndo')::boolean then true end)));
  update public.calls c
    set status = v_to, version = c.version + 1, last_proof_id = v_proof_id, status_at = v_now, updated_at = v_now
    where c.id = v_call.id;
  return jsonb_build_object('ok', true, 'from', v_call.status, 'to', v_to, 'contract_version', v_version, 'proof_id', v_proof_id,
    'version', v_call.version + 1, 'saleId', v_sale.id);
end
$$;

-- refuse_told_twice: a sale from elsewhere whose call was sealed on the desk is that sale, unless somebody says that it is another.
create function private.refuse_told_twice(p_sale public.sales, p_args jsonb) returns void
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_sealed public.sales;
begin
  select s.* into v_sealed from public.sales s
    where s.call_id = p_sale.sibling_call_id and s.status = 'CONFIRMED' and not coalesce((p_args ->> 'separateSale')::boolean, false);
  if v_sealed.id is not null then
    perform private.refuse_sealed_visit(v_sealed);
  end if;
end
$$;

-- move_sale: one legal move of a sale. A sale that belongs to a call moves with it.
--   Takes    p_args {id, to, expectedVersion?, reason?, requestHash?, amountCents?, currency?}
create function private.move_sale(p_site public.sites, p_actor private.actor, p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
  v_session_id uuid;
  v_after public.sales;
  v_to text := p_args ->> 'to';
  v_version text;
  v_proof_id uuid;
begin
  -- The call, then its visit, then the sale, as everywhere.
  select c.session_id into v_session_id from public.calls c join public.sales s on s.call_id = c.id
    where s.id = (p_args ->> 'id')::uuid and s.site_id = p_site.id for update of c;
  perform private.lock_visit(v_session_id);
  -- With it the sales that it may follow: all in order of id, as answers lock them.
  select s.* into v_sale from public.sales s
    where s.id = (p_args ->> 'id')::uuid and s.site_id = p_site.id;
  perform private.hold_retractions(array(select o.id from public.sales o where o.id = v_sale.id
    or (o.status = 'CANCELED' and o.call_id in (v_sale.call_id, v_sale.sibling_call_id))));
  v_sale := private.take_sale(p_site, p_args);
  v_version := private.require_move('sale', v_sale.status, v_to);
  if v_sale.status = 'CANCELED' and exists (select from public.offline_conversion_queue q
      where q.sale_id = v_sale.id and q.kind = 'RETRACT' and (q.attempt_count > 0 or q.status = 'COMPLETED')) then
    perform private.fail(409, 'SALE_RETRACTED');
  end if;
  if v_sale.call_id is not null and not (v_to = 'CANCELED' and v_sale.status = 'DRAFT') then
    v_proof_id := private.move_call(p_site, p_actor, (p_args - 'expectedVersion') || jsonb_build_object('id', v_sale.call_id,
      'to', case v_to when 'CONFIRMED' then 'sealed' else 'cancelled' end, 'saleId', v_sale.id)) ->> 'proof_id';
  else
    if v_to = 'CANCELED' then
      v_after := private.end_sale(v_sale.id, p_actor);
    else
      perform private.refuse_told_twice(v_sale, p_args);
      v_after := private.write_snapshot(v_sale.id, case v_sale.status when 'DRAFT' then 'SEAL' else 'RESTORE' end, case v_sale.status when 'DRAFT' then v_sale.amount_cents
        else coalesce((select r.amount_cents from public.revenue_snapshots r where r.sale_id = v_sale.id and r.amount_cents > 0 order by r.sequence desc limit 1), v_sale.drafted_cents) end,
        v_sale.value_source, p_actor);
      perform private.act(p_actor, 'SEAL');
      perform private.follow_ledger(v_sale.id);
    end if;
    v_proof_id := private.prove(p_site.id, p_actor, jsonb_build_object('contract', 'sale', 'contractVersion', v_version, 'entityId', v_sale.id,
      'from', v_sale.status, 'to', v_to, 'note', p_args ->> 'reason', 'requestHash', p_args ->> 'requestHash',
      'facts', jsonb_build_object('version', v_after.version, 'saleId', v_sale.id, 'amountCents', v_after.amount_cents, 'currency', v_after.currency,
        'valueSource', v_after.value_source, 'deliveryBlock', v_after.delivery_block)));
  end if;
  return jsonb_build_object('ok', true, 'from', v_sale.status, 'to', v_to, 'contract_version', v_version, 'proof_id', v_proof_id, 'saleId', v_sale.id);
end
$$;

-- correct_amount: a sealed sale was worth something else. A new line in the ledger; the old one stays.
--   Takes    p_args {id, amountCents, expectedVersion?, reason?, requestHash?}
create function private.correct_amount(p_site public.sites, p_actor private.actor, p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
  v_after public.sales;
  v_amount bigint := private.asked_cents(p_args);
  v_proof_id uuid;
begin
  v_sale := private.take_sale(p_site, p_args);
  if v_sale.status <> 'CONFIRMED' then
    perform private.fail(409, 'SALE_NOT_SEALED');
  end if;
  perform private.check_amount(v_amount, v_sale.currency);
  if v_sale.amount_cents = v_amount and v_sale.value_source <> 'PREDICTED' then
    perform private.fail(409, 'AMOUNT_UNCHANGED');
  end if;
  v_after := private.write_snapshot(v_sale.id, 'CORRECT', v_amount, 'OPERATOR', p_actor);
  perform private.act(p_actor, 'CORRECT');
  perform private.follow_ledger(v_sale.id);
  v_proof_id := private.prove(p_site.id, p_actor, jsonb_build_object('contract', 'sale', 'contractVersion',
    (select c.contract_version from public.contracts c where c.contract = 'sale'), 'entityId', v_sale.id,
    'from', v_sale.status, 'to', v_after.status, 'note', p_args ->> 'reason', 'requestHash', p_args ->> 'requestHash',
    'facts', jsonb_build_object('version', v_after.version, 'saleId', v_sale.id, 'callId', v_sale.call_id, 'amountBeforeCents', v_sale.amount_cents,
      'amountCents', v_after.amount_cents, 'currency', v_after.currency)));
  return jsonb_build_object('ok', true, 'from', v_sale.status, 'to', v_after.status, 'proof_id', v_proof_id, 'saleId', v_sale.id, 'version', v_after.version);
end
$$;

-- undo_move: take back the last move of a call, within ten minutes. What was undone can not be undone.
--   Takes    p_args {id, expectedVersion?, requestHash?}
create function private.undo_move(p_site public.sites, p_actor private.actor, p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_proof public.transition_proofs;
begin
  select p.* into v_proof from public.calls c join public.transition_proofs p on p.id = c.last_proof_id
    where c.id = (p_args ->> 'id')::uuid and c.site_id = p_site.id;
  if v_proof.id is null or v_proof.facts ? 'undo' then
    perform private.fail(409, 'NOTHING_TO_UNDO');
  end if;
  if v_proof.occurred_at < private.current_moment() - interval '10 minutes' then
    perform private.fail(409, 'UNDO_EXPIRED');
  end if;
  -- Fenced by the move it takes back: a change between this read and the move's lock makes the version stale.
  return private.move_call(p_site, p_actor, p_args || jsonb_strip_nulls(jsonb_build_object('saleId', case when v_proof.from_state = 'sealed' then v_proof.facts -> 'saleId' end))
    || jsonb_build_object('to', v_proof.from_state, 'isUndo', true,
    'expectedVersion', coalesce((p_args ->> 'expectedVersion')::int, (v_proof.facts ->> 'version')::int)));
end
$$;

-- withdraw_marketing: a visitor's newest choice leaves marketing out. What Google has not got it never gets, and
-- what only consent allowed us to keep is gone, in every visit. What Google has stays as it is.
-- Called with the visitor locked. Locks are taken in the order that sealing takes them: calls, sales, queue rows.
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
  select array_agg(t.gclid), array_agg(t.wbraid), array_agg(t.gbraid) into v_gclids, v_wbraids, v_gbraids from (
    select s.gclid, s.wbraid, s.gbraid from public.sessions s
      where s.site_id = p_site_id and s.visitor_id = p_visitor_id and s.clicked_at is not null
    union
    select c.gclid, c.wbraid, c.gbraid from public.calls c
      where c.site_id = p_site_id and c.visitor_id = p_visitor_id and c.clicked_at is not null) t;
  v_session_ids := array(select s.id from public.sessions s
    where s.site_id = p_site_id and s.visitor_id = p_visitor_id and s.marketing_consent);
  update public.sessions s
    set marketing_consent = false, gclid = null, wbraid = null, gbraid = null, clicked_at = null,
        landing_url = private.without_click_ids(s.landing_url), referrer = private.without_click_ids(s.referrer)
    where s.id = any (v_session_ids);
  update private.events e set url = private.without_click_ids(e.url)
    where e.session_id = any (v_session_ids) and e.url ~* '(clid|braid)(=|%3D)';
  update public.ingest_fallback_buffer b   -- what could not be stored waits for somebody, perhaps for long
    set payload = private.without_marketing(b.payload)
    where b.status = 'FAILED' and b.site_id = p_site_id and b.payload ->> 'visitor' = p_visitor_id;
  v_call_ids := array(select c.id from public.calls c
    where c.site_id = p_site_id and c.visitor_id = p_visitor_id order by c.id for update);
  update public.calls c
    set marketing_consent = false, gclid = null, wbraid = null, gbraid = null, clicked_at = null, phone = null,
        caller_hash = null, page_url = private.without_click_ids(c.page_url), updated_at = private.current_moment()
    where c.id = any (v_call_ids) and c.marketing_consent;
  perform private.silence_calls(v_call_ids);
  -- Sales from elsewhere that brought a click of this visitor themselves, and happened before the choice.
  perform private.silence_sales(array(
    select s.id from public.sales s
    where s.site_id = p_site_id
      and (s.gclid = any (v_gclids) or s.wbraid = any (v_wbraids) or s.gbraid = any (v_gbraids))
      and s.occurred_at < (private.newest_choice(p_site_id, p_visitor_id)).chosen_at));
end
$$;

-- silence_calls: nothing of these calls is sent that Google has not got: signals end, sales are blocked and
-- lose what told who the customer is, and waiting rows are closed. Rows in flight are dealt with by their answer.
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
    where g.call_id = any (p_call_ids) and (g.dispatch_status = 'PENDING'
      or (g.dispatch_status = 'FAILED' and g.provider_error_category = 'AUTH'));
  perform private.silence_sales(array(
    select s.id from public.sales s where s.call_id = any (p_call_ids)
    union
    select s.id from public.sales s where s.sibling_call_id = any (p_call_ids)));
end
$$;

create function private.silence_sales(p_sale_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
  v_is_sent boolean;
begin
  for v_sale in select s.* from public.sales s where s.id = any (p_sale_ids) order by s.id for update loop
    -- What Google has stays, and its order id is enough to correct it: the ids go from here all the same.
    v_is_sent := exists (select from private.standing_dispatches d where d.sale_id = v_sale.id);
    perform private.forget_identifiers(array[v_sale.id]);
    update public.sales s
      set delivery_block = case when v_is_sent then s.delivery_block else 'NO_CONSENT' end,
          gclid = null, wbraid = null, gbraid = null, clicked_at = null, customer_hash = null,
          email_hash = null,
          note = case when v_is_sent then s.note end, updated_at = private.current_moment()
      where s.id = v_sale.id;
    perform private.act(('system', null)::private.actor, 'CONSENT_WITHDRAWN');
    perform private.follow_ledger(v_sale.id);   -- closes what waits; what may have arrived can still be taken back
  end loop;
end
$$;

-- tell_after_all: a call's click became known after the call was judged without one. Its signals are told now,
-- and a sale that was blocked for want of a click is queued. Called with the call locked.
create function private.tell_after_all(p_call public.calls) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_stage text := case p_call.status when 'qualified' then 'SEAL_PENDING' when 'meeting' then 'MEETING_BOOKED' end;
  v_sale public.sales;
begin
  if p_call.status not in ('junk', 'cancelled') then
    perform private.emit_signal(p_call.id, 'INTENT_CAPTURED', p_call.called_at);
    if v_stage is not null then
      perform private.emit_signal(p_call.id, v_stage, p_call.status_at);
    end if;
  end if;
  for v_sale in
    select s.* from public.sales s where s.call_id = p_call.id and s.delivery_block = 'NO_CLICK_ID' order by s.id for update
  loop
    update public.sales s
      set gclid = p_call.gclid, wbraid = p_call.wbraid, gbraid = p_call.gbraid, clicked_at = p_call.clicked_at,
          delivery_block = private.delivery_block_of(p_call), updated_at = private.current_moment()
      where s.id = v_sale.id;
    if v_sale.status = 'CONFIRMED' then
      perform private.act(('system', null)::private.actor, 'CLICK_FOUND');
      perform private.follow_ledger(v_sale.id);
    end if;
  end loop;
end
$$;
