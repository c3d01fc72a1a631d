-- Transitions: how people and machines ask for a move. Each takes the caller's key and the hash
-- of the request, and answers {status, replayed, body} with the body as the bytes to serve.

-- effect: runs the change that p_args names, for answer_once.
--   Takes    p_args {effect, site, actorKind, actorId, …}
create function private.effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites;
  v_actor private.actor := (p_args ->> 'actorKind', (p_args ->> 'actorId')::uuid)::private.actor;
begin
  select s.* into v_site from public.sites s where s.id = (p_args ->> 'site')::uuid;
  return case p_args ->> 'effect'
    when 'call' then private.move_call(v_site, v_actor, p_args)
    when 'sale' then private.move_sale(v_site, v_actor, p_args)
    when 'conversion' then private.move_conversion(v_site, v_actor, p_args)
    when 'correct' then private.correct_amount(v_site, v_actor, p_args)
    when 'undo' then private.undo_step(v_site, v_actor, p_args)
    when 'undoSale' then private.undo_sale_step(v_site, v_actor, p_args) end;
end
$$;

-- transition_args: the arguments that a caller of the contract endpoint may give. Those that belong
-- to the desk or to an undo are dropped.
create function private.transition_args(
  p_move jsonb, p_site_id uuid, p_actor private.actor, p_request_hash text
) returns jsonb
language sql immutable set search_path = ''
as $$
  select jsonb_build_object(
    'effect', p_move -> 'contract',
    'id', p_move -> 'id',
    'to', p_move -> 'to',
    'reason', p_move -> 'reason',
    'expectedVersion', p_move -> 'expectedVersion',
    'site', p_site_id,
    'actorKind', p_actor.kind,
    'actorId', p_actor.id,
    'requestHash', p_request_hash)
$$;

-- require_key: the caller's key, or 400 without one.
create function private.require_key(p_key text) returns text
language plpgsql immutable set search_path = ''
as $$
begin
  if p_key is null then
    perform private.fail(400, 'INVALID_IDEMPOTENCY_KEY');
  end if;
  return p_key;
end
$$;

-- transition_effect: a move as the contract endpoint answers it: these five fields and no other.
create function private.transition_effect(p_args jsonb) returns jsonb
language sql security definer set search_path = ''
as $$
  select jsonb_build_object(
    'ok', true,
    'from', e -> 'from',
    'to', e -> 'to',
    'contract_version', e -> 'contract_version',
    'proof_id', e -> 'proof_id')
  from private.effect(p_args) e
$$;

-- site_of_entity: the site that a call, sale or conversion belongs to; null for an unknown id.
create function private.site_of_entity(p_contract text, p_id uuid) returns uuid
language plpgsql stable security definer set search_path = ''
as $$
begin
  return case p_contract
    when 'call' then (select c.site_id from public.calls c where c.id = p_id)
    when 'sale' then (select s.site_id from public.sales s where s.id = p_id)
    when 'conversion' then (
      select q.site_id from public.offline_conversion_queue q where q.id = p_id) end;
end
$$;

-- change_once: an operator's change of one site, answered once per key.
create function private.change_once(
  p_site public.sites, p_scope text, p_key text, p_request_hash text, p_args jsonb
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.answer_once(
    p_site.id, p_scope, p_key, p_request_hash, 'private.effect'::regproc,
    p_args || jsonb_build_object(
      'site', p_site.id,
      'actorKind', 'user',
      'actorId', auth.uid(),
      'requestHash', p_request_hash))
$$;

-- transition_contract: one legal move, asked for by a person.
--   Takes    p_move {contract, id, to, reason?, expectedVersion?}. The site is the entity's;
--            unknown and not-yours are the same 404.
--   Refuses  400 without a key, 409 ILLEGAL_MOVE with what is allowed.
--   Callers  operators.
create function public.transition_contract(p_move jsonb, p_key text, p_request_hash text)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites;
begin
  select s.* into v_site from public.sites s
    where s.id = private.site_of_entity(p_move ->> 'contract', (p_move ->> 'id')::uuid);
  if v_site.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  v_site := private.require_open_site(v_site.public_id, 'operator');
  return private.answer_once(
    v_site.id, 'contract.transition', private.require_key(p_key), p_request_hash,
    'private.transition_effect'::regproc,
    private.transition_args(p_move, v_site.id, private.user_actor(), p_request_hash));
end
$$;
grant execute on function public.transition_contract(jsonb, text, text) to authenticated;

-- transition_contract_for_key: the same, asked for by a machine with a key of the site.
--   Refuses  403 INSUFFICIENT_SCOPE unless the key has the scope of what it moves, or `contracts`.
--   Callers  service role only.
create function public.transition_contract_for_key(
  p_key_id uuid, p_move jsonb, p_key text, p_request_hash text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_contract text := p_move ->> 'contract';
  v_site_id uuid := private.key_site_id(p_key_id, private.contract_scopes(v_contract));
begin
  if v_site_id is distinct from private.site_of_entity(v_contract, (p_move ->> 'id')::uuid) then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return private.answer_once(
    v_site_id, 'contract.transition', private.require_key(p_key), p_request_hash,
    'private.transition_effect'::regproc,
    private.transition_args(
      p_move, v_site_id, ('api_key', p_key_id)::private.actor, p_request_hash));
end
$$;
grant execute on function public.transition_contract_for_key(uuid, jsonb, text, text)
  to opsmantik_app, service_role;
