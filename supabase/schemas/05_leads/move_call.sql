-- Moves of leads. Locks are taken in the order that sealing takes them
-- (07_sales/seal_sale.sql).

-- last_change: the last change of a call, for an operator whose screen shows an older version.
create function private.last_change(p_call public.calls) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'status', p_call.status,
    'version', p_call.version,
    'changedAt', p_call.status_at,
    'changedBy', (
      select private.actor_email(p.actor_id, p.occurred_at) from public.transition_proofs p
      where p.id = p_call.last_proof_id and p.actor_kind = 'user'),
    'amountCents', s.amount_cents,
    'currency', s.currency))
  from (select 1) one
  left join public.sales s on s.call_id = p_call.id and s.status = 'CONFIRMED'
$$;

-- delivery_block_of: why a lead cannot be sent to Google, or null.
create function private.delivery_block_of(p_call public.calls) returns text
language sql stable set search_path = ''
as $$
  select case
    when not p_call.marketing_consent
      or private.refused_marketing(p_call.site_id, p_call.visitor_id) then 'NO_CONSENT'
    when coalesce(p_call.gclid, p_call.wbraid, p_call.gbraid) is null then 'NO_CLICK_ID'
    when p_call.clicked_at < private.current_moment() - private.click_life()
      then 'CLICK_EXPIRED' end
$$;

-- move_call: one legal move of a call, with all that follows from it.
--   Takes    p_args {id, to, expectedVersion?, reason?, isUndo?, requestHash?} and for a seal
--            {amountCents?, currency?, note?, separateSale?}
--   Refuses  409 STALE_VERSION with what changed, 409 ILLEGAL_MOVE with what is allowed.
--   Returns  {ok, from, to, contract_version, proof_id, version, saleId}.
create function private.move_call(p_site public.sites, p_actor private.actor, p_args jsonb)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_call public.calls;
  v_sale public.sales;
  v_to text := p_args ->> 'to';
  v_is_undo boolean := coalesce((p_args ->> 'isUndo')::boolean, false);
  v_version text;
  v_proof_id uuid;
begin
  select c.* into v_call from public.calls c
    where c.id = (p_args ->> 'id')::uuid and c.site_id = p_site.id for update;
  if v_call.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if v_call.version <> coalesce((p_args ->> 'expectedVersion')::int, v_call.version) then
    perform private.fail(409, 'STALE_VERSION', private.last_change(v_call));
  end if;
  v_version := private.require_move('call', v_call.status, v_to, v_is_undo);
  if v_to = 'sealed' then
    v_sale := private.seal_sale(p_site, p_actor, v_call, p_args);
  elsif v_call.status = 'sealed' then
    select s.* into v_sale from public.sales s
      where s.call_id = v_call.id and s.status = 'CONFIRMED';
    v_sale := private.end_sale(v_sale.id, p_actor);
  end if;
  perform private.follow_stages(v_call, v_to, v_is_undo);
  v_proof_id := private.prove(p_site.id, p_actor, jsonb_build_object(
    'contract', 'call',
    'contractVersion', v_version,
    'entityId', v_call.id,
    'from', v_call.status,
    'to', v_to,
    'note', p_args ->> 'reason',
    'requestHash', p_args ->> 'requestHash',
    'facts', private.sale_facts(v_sale) || jsonb_build_object(
      'version', v_call.version + 1, 'undo', case when v_is_undo then true end)));
  update public.calls c
    set status = v_to,
        version = c.version + 1,
        last_proof_id = v_proof_id,
        status_at = v_now,
        is_moved = not v_is_undo,
        updated_at = v_now
    where c.id = v_call.id;
  return jsonb_build_object(
    'ok', true,
    'from', v_call.status,
    'to', v_to,
    'contract_version', v_version,
    'proof_id', v_proof_id,
    'version', v_call.version + 1,
    'saleId', v_sale.id);
end
$$;

-- change_call: what an operator does with a lead on the desk: another stage, junk, or a cancelled
-- sale.
--   Takes    p_change {id, to, expectedVersion, reason?}
--   Callers  operators.
create function public.change_call(
  p_public_id text, p_change jsonb, p_request_hash text, p_key text default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(
    private.require_open_site(p_public_id, 'operator'), 'call.change', p_key, p_request_hash,
    jsonb_build_object(
      'effect', 'call',
      'id', p_change -> 'id',
      'to', p_change -> 'to',
      'expectedVersion', p_change -> 'expectedVersion',
      'reason', p_change -> 'reason'))
$$;
grant execute on function public.change_call(text, jsonb, text, text) to authenticated;

-- undo_call: takes back the newest step of a lead, within the undo window.
--   Takes    p_undo {id, proofId?, expectedVersion?}: the step that the screen names.
--   Callers  operators.
create function public.undo_call(
  p_public_id text, p_undo jsonb, p_request_hash text, p_key text default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(
    private.require_open_site(p_public_id, 'operator'), 'call.undo', p_key, p_request_hash,
    jsonb_strip_nulls(jsonb_build_object(
      'effect', 'undo',
      'id', p_undo -> 'id',
      'proofId', p_undo -> 'proofId',
      'expectedVersion', p_undo -> 'expectedVersion')))
$$;
grant execute on function public.undo_call(text, jsonb, text, text) to authenticated;
