-- What can be undone of a sale: its newest step, for ten minutes, as of a lead. A sealed sale that
-- belongs to a lead is undone with it.

-- last_sale_step: the newest step of a sale that nobody has undone: a correction, or its last move.
-- None for a sale that was reported and not changed since, and for one that moves with its lead.
create function private.last_sale_step(p_sale public.sales) returns public.transition_proofs
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_move public.transition_proofs;
  v_step public.transition_proofs;
begin
  if p_sale.call_id is not null and private.has_ledger(p_sale.id) then
    return null;
  end if;
  -- Not by time: a step that waited for another one began before it.
  select p.* into v_move from public.transition_proofs p
    where p.entity_id = p_sale.id and p.contract = 'sale'
      and p.from_state is distinct from p.to_state
    order by (p.facts ->> 'version')::int desc limit 1;
  select p.* into v_step from public.transition_proofs p
    where p.entity_id = p_sale.id and p.contract = 'sale' and p.from_state = p.to_state
      and (p.facts ->> 'version')::int > (v_move.facts ->> 'version')::int
      and not p.facts ? 'undo'
      and not exists (select from public.transition_proofs u
        where u.entity_id = p_sale.id and u.facts ->> 'undoes' = p.id::text)
    order by (p.facts ->> 'version')::int desc limit 1;
  if v_step.id is not null then
    return v_step;
  end if;
  if v_move.from_state is null or v_move.facts ? 'undo' then
    return null;
  end if;
  return v_move;
end
$$;

-- undo_sale_json: what an undo of a sale would undo now, as step_json. Of a cancellation that
-- Google may have nothing is offered: such a sale never comes back under its order id.
create function private.undo_sale_json(p_sale public.sales) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  if p_sale.call_id is not null and private.has_ledger(p_sale.id) then
    return (select private.undo_json(c) from public.calls c where c.id = p_sale.call_id);
  end if;
  if p_sale.status = 'CANCELED' and private.may_be_retracted(p_sale.id) then
    return null;
  end if;
  return private.step_json(private.last_sale_step(p_sale));
end
$$;

-- undo_sale_step: takes back the newest step of a sale, within the undo window. The undo of a seal
-- cancels the sale: its ledger stays. An undo cannot be undone.
--   Takes    p_args as undo_step, with the sale's id.
--   Refuses  409 STALE_VERSION when another step came since, 409 SALE_RETRACTED.
create function private.undo_sale_step(p_site public.sites, p_actor private.actor, p_args jsonb)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
  v_session_id uuid;
  v_step public.transition_proofs;
begin
  select s.* into v_sale from public.sales s
    where s.id = (p_args ->> 'id')::uuid and s.site_id = p_site.id;
  if v_sale.call_id is not null and private.has_ledger(v_sale.id) then
    return private.undo_step(p_site, p_actor,
      p_args - 'expectedVersion' || jsonb_build_object('id', v_sale.call_id));
  end if;
  -- The call, then its visit, then the sale, as everywhere.
  select c.session_id into v_session_id
    from public.calls c where c.id = v_sale.call_id for update;
  perform private.lock_visit(v_session_id);
  perform private.hold_followed(v_sale);
  v_sale := private.take_sale(p_site, p_args);
  v_step := private.last_sale_step(v_sale);
  if v_step.id is null then
    perform private.fail(409, 'NOTHING_TO_UNDO');
  end if;
  if v_step.occurred_at < private.current_moment() - private.undo_window() then
    perform private.fail(409, 'UNDO_EXPIRED');
  end if;
  if v_step.id is distinct from coalesce((p_args ->> 'proofId')::uuid,
       case when v_step.actor_id is not distinct from p_actor.id then v_step.id end) then
    perform private.fail(409, 'STALE_VERSION', jsonb_build_object(
      'status', v_sale.status, 'version', v_sale.version));
  end if;
  if v_step.from_state = v_step.to_state then
    return private.correct_amount(p_site, p_actor, jsonb_build_object(
      'id', v_sale.id,
      'amountCents', v_step.facts -> 'amountBeforeCents',
      'valueSource', coalesce(v_step.facts ->> 'sourceBefore', 'OPERATOR'),
      'undoes', v_step.id,
      'requestHash', p_args ->> 'requestHash'));
  end if;
  return private.move_sale(p_site, p_actor, p_args || jsonb_build_object(
    'to', case v_step.to_state when 'CONFIRMED' then 'CANCELED' else v_step.from_state end,
    'isUndo', true));
end
$$;

-- undo_sale: takes back the newest step of a sale, within the undo window.
--   Takes    p_undo {id, proofId?, expectedVersion?}: the step that the screen names.
--   Callers  operators.
create function public.undo_sale(
  p_public_id text, p_undo jsonb, p_request_hash text, p_key text default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(
    private.require_open_site(p_public_id, 'operator'), 'sale.undo', p_key, p_request_hash,
    jsonb_strip_nulls(jsonb_build_object(
      'effect', 'undoSale',
      'id', p_undo -> 'id',
      'proofId', p_undo -> 'proofId',
      'expectedVersion', p_undo -> 'expectedVersion')))
$$;
grant execute on function public.undo_sale(text, jsonb, text, text) to authenticated;
