-- What can be undone of a lead: its newest step, for ten minutes. Each step is undone by itself:
-- first the corrections, newest first, then the move before them.

-- last_step: the newest step of a lead that nobody has undone: a correction of its sealed sale, or
-- its last move. An undo is no step.
create function private.last_step(p_call public.calls) returns public.transition_proofs
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_step public.transition_proofs;
begin
  if p_call.status = 'sealed' then
    select p.* into v_step
      from public.sales s join public.transition_proofs p on p.entity_id = s.id
      where s.call_id = p_call.id and s.status = 'CONFIRMED'
        and p.contract = 'sale' and p.from_state = p.to_state
        and p.occurred_at >= p_call.status_at and not p.facts ? 'undo'
        and not exists (select from public.transition_proofs u
          where u.entity_id = s.id and u.facts ->> 'undoes' = p.id::text)
      -- Not by time: a correction that waited for another one began before it.
      order by (p.facts ->> 'version')::int desc limit 1;
  end if;
  if v_step.id is null then
    select p.* into v_step from public.transition_proofs p
      where p.id = p_call.last_proof_id and not p.facts ? 'undo';
  end if;
  return v_step;
end
$$;

-- step_json: what an undo of this step would undo, and until when; null when it is too late.
--   Returns  {proofId, kind, until, byYou, amountCents, beforeCents, currency}. The kind is
--            correct, seal, cancel, discard (of a draft), or the state that the lead was moved to.
create function private.step_json(p_step public.transition_proofs) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'proofId', p_step.id,
    'kind', case
      when p_step.contract = 'sale' and p_step.from_state = p_step.to_state then 'correct'
      when p_step.from_state = 'DRAFT' and p_step.to_state = 'CANCELED' then 'discard'
      when p_step.to_state in ('sealed', 'CONFIRMED') then 'seal'
      when p_step.to_state in ('cancelled', 'CANCELED') then 'cancel'
      else p_step.to_state end,
    'until', p_step.occurred_at + private.undo_window(),
    'byYou', coalesce(p_step.actor_id = auth.uid(), false),
    'amountCents', (p_step.facts ->> 'amountCents')::bigint,
    'beforeCents', (p_step.facts ->> 'amountBeforeCents')::bigint,
    'currency', p_step.facts ->> 'currency')
  where p_step.occurred_at > private.current_moment() - private.undo_window()
$$;

-- undo_json: what an undo of a lead would undo now, and until when; null when there is nothing.
create function private.undo_json(p_call public.calls) returns jsonb
language sql stable security definer set search_path = ''
as $$ select private.step_json(private.last_step(p_call)) $$;

-- undo_step: takes back the newest step of a call, within the undo window. An undo cannot be
-- undone.
--   Takes    p_args {id, proofId?, expectedVersion?, requestHash?}: the step that the caller means;
--            without a proof, their own.
--   Refuses  409 STALE_VERSION when another step came since.
create function private.undo_step(p_site public.sites, p_actor private.actor, p_args jsonb)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_call public.calls;
  v_step public.transition_proofs;
begin
  select c.* into v_call from public.calls c
    where c.id = (p_args ->> 'id')::uuid and c.site_id = p_site.id for update;
  if v_call.status = 'sealed' then
    -- A correction locks its sale alone: one that is under way is seen by what follows.
    perform from public.sales s where s.call_id = v_call.id and s.status = 'CONFIRMED' for update;
  end if;
  v_step := private.last_step(v_call);
  if v_step.id is null then
    perform private.fail(409, 'NOTHING_TO_UNDO');
  end if;
  if v_step.occurred_at < private.current_moment() - private.undo_window() then
    perform private.fail(409, 'UNDO_EXPIRED');
  end if;
  if v_step.id is distinct from coalesce((p_args ->> 'proofId')::uuid,
       case when v_step.actor_id is not distinct from p_actor.id then v_step.id end)
     or v_call.version <> coalesce((p_args ->> 'expectedVersion')::int, v_call.version) then
    perform private.fail(409, 'STALE_VERSION', private.last_change(v_call));
  end if;
  if v_step.contract = 'sale' then
    return private.correct_amount(p_site, p_actor, jsonb_build_object(
      'id', v_step.entity_id,
      'amountCents', v_step.facts -> 'amountBeforeCents',
      'valueSource', coalesce(v_step.facts ->> 'sourceBefore', 'OPERATOR'),
      'undoes', v_step.id,
      'requestHash', p_args ->> 'requestHash'));
  end if;
  if v_step.from_state = 'sealed' and v_step.facts ? 'saleId' then
    p_args := p_args || jsonb_build_object('saleId', v_step.facts -> 'saleId');
  end if;
  return private.move_call(p_site, p_actor, p_args || jsonb_build_object(
    'to', v_step.from_state, 'isUndo', true, 'expectedVersion', v_call.version));
end
$$;
