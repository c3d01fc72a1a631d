-- Moves of sales and corrections of their amount. Locks are taken in the order that sealing takes
-- them.

-- refuse_reported_twice: a sale from elsewhere whose call was sealed on the desk is that sale,
-- unless somebody says that it is another. An undo restores sales that existed side by side before.
create function private.refuse_reported_twice(p_sale public.sales, p_args jsonb) returns void
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_sealed public.sales;
begin
  select s.* into v_sealed
    from public.sales s join public.calls c on c.id = s.call_id
    where s.call_id = p_sale.sibling_call_id and s.status = 'CONFIRMED'
      and not coalesce((p_args ->> 'separateSale')::boolean, false)
      and (not coalesce((p_args ->> 'isUndo')::boolean, false)
        or c.status_at > p_sale.updated_at);
  if v_sealed.id is not null then
    perform private.refuse_sealed_visit(v_sealed);
  end if;
end
$$;

-- worth_before: what a cancelled sale was worth, and is again when it comes back.
create function private.worth_before(p_sale public.sales) returns bigint
language sql stable security definer set search_path = ''
as $$
  select coalesce((
    select r.amount_cents from public.revenue_snapshots r
    where r.sale_id = p_sale.id and r.amount_cents > 0
    order by r.sequence desc limit 1), p_sale.drafted_cents)
$$;

-- seal_without_call: a sale without a call is sealed, or comes back with what it was worth.
create function private.seal_without_call(p_sale public.sales, p_actor private.actor)
returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_is_draft boolean := p_sale.status = 'DRAFT';
  v_after public.sales;
begin
  v_after := private.write_snapshot(
    p_sale.id,
    case when v_is_draft then 'SEAL' else 'RESTORE' end,
    case when v_is_draft then p_sale.amount_cents else private.worth_before(p_sale) end,
    p_sale.value_source, p_actor);
  perform private.act(p_actor, 'SEAL');
  perform private.follow_ledger(p_sale.id);
  return v_after;
end
$$;

-- hold_followed: locks a sale with those that it may follow, all in order of id, as answers lock
-- them.
create function private.hold_followed(p_sale public.sales) returns void
language sql security definer set search_path = ''
as $$
  select private.hold_retractions(array(
    select o.id from public.sales o
    where o.id = p_sale.id
      or (o.status = 'CANCELED' and o.call_id in (p_sale.call_id, p_sale.sibling_call_id))))
$$;

-- redraft: a draft that was cancelled by mistake is a draft again. It has no ledger.
create function private.redraft(p_sale public.sales) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_other public.sales;
  v_after public.sales;
begin
  select s.* into v_other from public.sales s
    where s.call_id = p_sale.call_id and s.status <> 'CANCELED' and s.id <> p_sale.id;
  if v_other.id is not null then
    perform private.refuse_sealed_visit(v_other);   -- a call has one living sale
  end if;
  update public.sales s
    set status = 'DRAFT',
        amount_cents = s.drafted_cents,
        drafted_cents = null,
        version = s.version + 1,
        updated_at = private.current_moment()
    where s.id = p_sale.id returning * into v_after;
  return v_after;
end
$$;

-- move_sale: one legal move of a sale. A sale that belongs to a call moves with it.
--   Takes    p_args {id, to, expectedVersion?, reason?, requestHash?, amountCents?, currency?}, and
--            for an undo {isUndo}
create function private.move_sale(p_site public.sites, p_actor private.actor, p_args jsonb)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
  v_session_id uuid;
  v_after public.sales;
  v_to text := p_args ->> 'to';
  v_is_undo boolean := coalesce((p_args ->> 'isUndo')::boolean, false);
  v_version text;
  v_proof_id uuid;
begin
  -- The call, then its visit, then the sale, as everywhere.
  select c.session_id into v_session_id
    from public.calls c join public.sales s on s.call_id = c.id
    where s.id = (p_args ->> 'id')::uuid and s.site_id = p_site.id for update of c;
  perform private.lock_visit(v_session_id);
  select s.* into v_sale from public.sales s
    where s.id = (p_args ->> 'id')::uuid and s.site_id = p_site.id;
  perform private.hold_followed(v_sale);
  v_sale := private.take_sale(p_site, p_args);
  v_version := private.require_move('sale', v_sale.status, v_to, v_is_undo);
  if v_sale.status = 'CANCELED' and private.may_be_retracted(v_sale.id) then
    perform private.fail(409, 'SALE_RETRACTED');
  end if;
  if v_sale.call_id is not null and v_to <> 'DRAFT'
     and not (v_to = 'CANCELED' and v_sale.status = 'DRAFT') then
    v_proof_id := private.move_call(p_site, p_actor,
      (p_args - 'expectedVersion') || jsonb_build_object(
        'id', v_sale.call_id,
        'to', case v_to when 'CONFIRMED' then 'sealed' else 'cancelled' end,
        'saleId', v_sale.id)) ->> 'proof_id';
  else
    if v_to = 'CANCELED' then
      v_after := private.end_sale(v_sale.id, p_actor);
    elsif v_to = 'DRAFT' then
      v_after := private.redraft(v_sale);
    else
      perform private.refuse_reported_twice(v_sale, p_args);
      v_after := private.seal_without_call(v_sale, p_actor);
    end if;
    v_proof_id := private.prove(p_site.id, p_actor, jsonb_build_object(
      'contract', 'sale',
      'contractVersion', v_version,
      'entityId', v_sale.id,
      'from', v_sale.status,
      'to', v_to,
      'note', p_args ->> 'reason',
      'requestHash', p_args ->> 'requestHash',
      'facts', private.sale_facts(v_after) || jsonb_build_object(
        'version', v_after.version, 'undo', case when v_is_undo then true end)));
  end if;
  return jsonb_build_object(
    'ok', true,
    'from', v_sale.status,
    'to', v_to,
    'contract_version', v_version,
    'proof_id', v_proof_id,
    'saleId', v_sale.id);
end
$$;

-- correct_amount: a sealed sale was worth something else. A new line in the ledger; the old one
-- stays. The undo of a correction is one too: it brings back the amount and where it came from.
--   Takes    p_args {id, amountCents, expectedVersion?, reason?, requestHash?}, and for an undo
--            {undoes, valueSource}
create function private.correct_amount(p_site public.sites, p_actor private.actor, p_args jsonb)
returns jsonb
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
  if v_sale.amount_cents = v_amount and v_sale.value_source <> 'PREDICTED'
     and not p_args ? 'undoes' then
    perform private.fail(409, 'AMOUNT_UNCHANGED');
  end if;
  v_after := private.write_snapshot(v_sale.id, 'CORRECT', v_amount,
    coalesce(p_args ->> 'valueSource', 'OPERATOR'), p_actor);
  perform private.act(p_actor, 'CORRECT');
  perform private.follow_ledger(v_sale.id);
  v_proof_id := private.prove(p_site.id, p_actor, jsonb_build_object(
    'contract', 'sale',
    'contractVersion', private.contract_version('sale'),
    'entityId', v_sale.id,
    'from', v_sale.status,
    'to', v_after.status,
    'note', p_args ->> 'reason',
    'requestHash', p_args ->> 'requestHash',
    'facts', jsonb_build_object(
      'version', v_after.version,
      'saleId', v_sale.id,
      'callId', v_sale.call_id,
      'amountBeforeCents', v_sale.amount_cents,
      'sourceBefore', v_sale.value_source,
      'amountCents', v_after.amount_cents,
      'currency', v_after.currency,
      'undo', case when p_args ? 'undoes' then true end,
      'undoes', p_args -> 'undoes')));
  return jsonb_build_object(
    'ok', true,
    'from', v_sale.status,
    'to', v_after.status,
    'proof_id', v_proof_id,
    'saleId', v_sale.id,
    'version', v_after.version);
end
$$;

-- correct_sale: a sealed sale was worth something else.
--   Takes    p_correction {id, amountCents, expectedVersion?, reason?}
--   Callers  operators.
create function public.correct_sale(
  p_public_id text, p_correction jsonb, p_request_hash text, p_key text default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(
    private.require_open_site(p_public_id, 'operator'), 'sale.correct', p_key, p_request_hash,
    jsonb_build_object(
      'effect', 'correct',
      'id', p_correction -> 'id',
      'amountCents', p_correction -> 'amountCents',
      'expectedVersion', p_correction -> 'expectedVersion',
      'reason', p_correction -> 'reason'))
$$;
grant execute on function public.correct_sale(text, jsonb, text, text) to authenticated;

-- cancel_sale: a sealed sale did not happen. Its call is cancelled with it.
--   Takes    p_cancel {id, expectedVersion?, reason?}
--   Callers  operators.
create function public.cancel_sale(
  p_public_id text, p_cancel jsonb, p_request_hash text, p_key text default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(
    private.require_open_site(p_public_id, 'operator'), 'sale.cancel', p_key, p_request_hash,
    jsonb_build_object(
      'effect', 'sale',
      'to', 'CANCELED',
      'id', p_cancel -> 'id',
      'expectedVersion', p_cancel -> 'expectedVersion',
      'reason', p_cancel -> 'reason'))
$$;
grant execute on function public.cancel_sale(text, jsonb, text, text) to authenticated;
