-- What becomes of proofs: they are put into blocks that hold each other, and shown to whom they belong.

-- is_settled: whether a writer is older than every transaction still open, as the statement that asks sees it. A writer "from the
-- future" is one from before this database was restored elsewhere: long committed.
create function private.is_settled(p_writer xid8) returns boolean
language sql stable set search_path = ''
as $$
  select p_writer < pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())
      or p_writer >= pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())
$$;

-- seal_proof_blocks: put committed proofs into blocks, site by site, each block linked to the one before.
--   Takes only proofs of settled transactions: whatever a block holds was written before whatever a later one holds.
--   Safe     to run twice at once: the second does nothing.
--   Returns  {proofs, blocks, waiting}; at most 20 blocks of 1,000 a call.
--   Callers  service role only (cron, each minute).
create function public.seal_proof_blocks() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site_id uuid;
  v_last public.proof_blocks;
  v_ids uuid[];
  v_hashes text;
  v_proofs int := 0;
  v_blocks int := 0;
begin
  if not pg_catalog.pg_try_advisory_xact_lock(hashtext('seal_proof_blocks')) then
    return jsonb_build_object('proofs', 0, 'blocks', 0, 'waiting', null);
  end if;
  while v_blocks < 20 loop
    select u.site_id into v_site_id from private.unsealed_proofs u
      where private.is_settled(u.written_by) order by u.proof_id limit 1;
    exit when not found;
    select array_agg(t.proof_id order by t.proof_id), string_agg(t.hash, '' order by t.proof_id) into v_ids, v_hashes from (
      select u.proof_id, p.hash from private.unsealed_proofs u join public.transition_proofs p on p.id = u.proof_id
      where u.site_id = v_site_id and private.is_settled(u.written_by)
      order by u.proof_id limit 1000) t;
    select b.* into v_last from public.proof_blocks b where b.site_id = v_site_id order by b.number desc limit 1;
    insert into public.proof_blocks (site_id, number, first_proof, last_proof, proof_ids, previous_root, root, sealed_at)
      select v_site_id, coalesce(v_last.number, 0) + 1, v_ids[1], v_ids[cardinality(v_ids)], v_ids, x.previous_root,
        encode(sha256(convert_to(x.previous_root || v_hashes, 'UTF8')), 'hex'), private.current_moment()
      from (select coalesce(v_last.root, repeat('0', 64)) as previous_root) x;
    delete from private.unsealed_proofs u where u.proof_id = any (v_ids);
    v_blocks := v_blocks + 1;
    v_proofs := v_proofs + cardinality(v_ids);
  end loop;
  return jsonb_build_object('proofs', v_proofs, 'blocks', v_blocks, 'waiting', (select count(*) from private.unsealed_proofs));
end
$$;

-- proof_receipt: a proof as its tenant may keep and check it. facts stays text: the hash is over these bytes. The block comes with
-- the hashes that its root is over, so that the receipt needs nothing else.
create function private.proof_receipt(p_proof public.transition_proofs) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('proof_id', p_proof.id, 'site', s.public_id, 'contract', p_proof.contract,
    'contract_version', p_proof.contract_version, 'entity_id', p_proof.entity_id, 'from', p_proof.from_state, 'to', p_proof.to_state,
    'actor_kind', p_proof.actor_kind, 'actor_id', p_proof.actor_id, 'facts', p_proof.facts::text, 'request_hash', p_proof.request_hash,
    'occurred_at', private.exact_time(p_proof.occurred_at), 'hash', p_proof.hash,
    'block', (select jsonb_build_object('number', b.number, 'root', b.root, 'previous_root', b.previous_root, 'sealed_at', private.exact_time(b.sealed_at),
                'hashes', (select jsonb_agg(m.hash order by u.place) from unnest(b.proof_ids) with ordinality u (id, place)
                           join public.transition_proofs m on m.id = u.id))
              from public.proof_blocks b where b.site_id = p_proof.site_id and p_proof.id between b.first_proof and b.last_proof
                and p_proof.id = any (b.proof_ids) order by b.number limit 1))
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
  if v_proof.id is null or not public.has_site_role(v_proof.site_id, 'viewer') then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return private.proof_receipt(v_proof);
end
$$;

-- key_site_id: the site that a key speaks for. The key may have been revoked or narrowed after the
-- guard let it in.
--   Takes    p_scopes: those that would do.
--   Refuses  401 INVALID_API_KEY, 403 INSUFFICIENT_SCOPE with what is needed and what the key has.
create function private.key_site_id(p_key_id uuid, p_scopes text[]) returns uuid
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_key jsonb := public.api_key_site(p_key_id);
begin
  if v_key is null then
    perform private.fail(401, 'INVALID_API_KEY');
  end if;
  if not v_key -> 'scopes' ?| p_scopes then
    perform private.fail(403, 'INSUFFICIENT_SCOPE',
      jsonb_build_object('needs', p_scopes, 'scopes', v_key -> 'scopes'));
  end if;
  return (v_key ->> 'siteId')::uuid;
end
$$;

-- contract_scopes: which scopes let a key move something: its own, or the one for all contracts.
create function private.contract_scopes(p_contract text) returns text[]
language sql immutable set search_path = ''
as $$
  select case p_contract when 'call' then '{calls,contracts}'::text[]
    when 'sale' then '{sales,contracts}' else '{contracts}' end
$$;

-- get_proof_for_key: the same for the site that a key speaks for, with any scope that makes moves.
--   Callers  service role only.
create function public.get_proof_for_key(p_key_id uuid, p_proof_id uuid) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site_id uuid := private.key_site_id(p_key_id, '{calls,sales,contracts}');
  v_proof public.transition_proofs;
begin
  select p.* into v_proof from public.transition_proofs p where p.id = p_proof_id and p.site_id = v_site_id;
  if v_proof.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return private.proof_receipt(v_proof);
end
$$;

-- list_contract_moves: the legal moves of the current versions, for screens and documents.
--   Callers  anyone who is signed in.
create function public.list_contract_moves() returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_agg(jsonb_build_object('contract', m.contract, 'contractVersion', m.contract_version, 'from', m.from_state, 'to', m.to_state,
           'undoOnly', m.undo_only) order by m.contract, m.from_state, m.to_state)
  from public.contract_moves m join public.contracts c on c.contract = m.contract and c.contract_version = m.contract_version
$$;

insert into public.contracts (contract, contract_version) values ('call', 'call/1'), ('sale', 'sale/1'), ('conversion', 'conversion/1');
insert into public.contract_moves (contract, contract_version, from_state, to_state, undo_only)
  select 'call', 'call/1', f, t, u from (values
    ('intent', 'qualified', false), ('intent', 'meeting', false), ('intent', 'sealed', false), ('intent', 'junk', false), ('intent', 'cancelled', false),
    ('qualified', 'meeting', false), ('qualified', 'sealed', false), ('qualified', 'junk', false), ('qualified', 'cancelled', false), ('qualified', 'intent', true),
    ('meeting', 'qualified', false), ('meeting', 'sealed', false), ('meeting', 'junk', false), ('meeting', 'cancelled', false), ('meeting', 'intent', true),
    ('sealed', 'cancelled', false), ('sealed', 'intent', true), ('sealed', 'qualified', true), ('sealed', 'meeting', true),
    ('junk', 'intent', false), ('junk', 'qualified', true), ('junk', 'meeting', true),
    ('cancelled', 'intent', false), ('cancelled', 'sealed', false), ('cancelled', 'qualified', true), ('cancelled', 'meeting', true)) m (f, t, u)
  union all
  select 'sale', 'sale/1', f, t, false from (values ('DRAFT', 'CONFIRMED'), ('DRAFT', 'CANCELED'), ('CONFIRMED', 'CANCELED'), ('CANCELED', 'CONFIRMED')) m (f, t)
  union all
  select 'conversion', 'conversion/1', f, t, false from (values ('QUEUED', 'QUEUED'), ('RETRY', 'QUEUED'), ('PROCESSING', 'QUEUED'), ('FAILED', 'QUEUED'),
    ('QUEUED', 'FAILED'), ('RETRY', 'FAILED'), ('PROCESSING', 'FAILED')) m (f, t);

grant execute on function public.get_proof(uuid), public.list_contract_moves() to authenticated;
grant execute on function public.get_proof_for_key(uuid, uuid), public.seal_proof_blocks() to opsmantik_app, service_role;
