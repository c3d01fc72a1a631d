-- Proofs, shown to whom they belong.

-- block_json: a block with the hashes that its root is made of.
create function private.block_json(p_block public.proof_blocks) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'number', p_block.number,
    'root', p_block.root,
    'previous_root', p_block.previous_root,
    'sealed_at', private.exact_time(p_block.sealed_at),
    'hashes', (
      select jsonb_agg(m.hash order by u.place)
      from unnest(p_block.proof_ids) with ordinality u (id, place)
      join public.transition_proofs m on m.id = u.id))
$$;

-- proof_receipt: a proof as its tenant may keep it. It can be checked without a database. The facts
-- are text, because the hash is over these bytes.
create function private.proof_receipt(p_proof public.transition_proofs) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'proof_id', p_proof.id,
    'site', s.public_id,
    'contract', p_proof.contract,
    'contract_version', p_proof.contract_version,
    'entity_id', p_proof.entity_id,
    'from', p_proof.from_state,
    'to', p_proof.to_state,
    'actor_kind', p_proof.actor_kind,
    'actor_id', p_proof.actor_id,
    'facts', p_proof.facts::text,
    'request_hash', p_proof.request_hash,
    'occurred_at', private.exact_time(p_proof.occurred_at),
    'hash', p_proof.hash,
    'block', (
      select private.block_json(b) from public.proof_blocks b
      where b.site_id = p_proof.site_id
        and p_proof.id between b.first_proof and b.last_proof
        and p_proof.id = any (b.proof_ids)
      order by b.number limit 1))
  from public.sites s where s.id = p_proof.site_id
$$;

-- get_proof: the receipt of one proof, for a member of its site.
--   Callers  viewers.
create function public.get_proof(p_proof_id uuid) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_proof public.transition_proofs;
begin
  select p.* into v_proof from public.transition_proofs p where p.id = p_proof_id;
  if v_proof.id is null or not public.has_site_role(v_proof.site_id,
      case when v_proof.contract = any (private.owner_contracts()) then 'owner'
        else 'viewer' end::public.site_role) then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return private.proof_receipt(v_proof);
end
$$;
grant execute on function public.get_proof(uuid) to authenticated;

-- get_proof_for_key: the same for the site that a key speaks for, with any scope that makes moves.
--   Callers  service role only.
create function public.get_proof_for_key(p_key_id uuid, p_proof_id uuid) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site_id uuid := private.key_site_id(p_key_id, '{calls,sales,contracts}');
  v_proof public.transition_proofs;
begin
  select p.* into v_proof from public.transition_proofs p
    where p.id = p_proof_id and p.site_id = v_site_id
      and p.contract <> all (private.owner_contracts());
  if v_proof.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return private.proof_receipt(v_proof);
end
$$;
grant execute on function public.get_proof_for_key(uuid, uuid) to opsmantik_app, service_role;
