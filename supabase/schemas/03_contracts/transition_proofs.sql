-- A proof of every move. An effect and its proof commit together or not at all.

-- One row per effect: ids, amounts and hashes only, so that it never has to be erased. There is
-- no foreign key to sites: it would lock the site's row once per move, and sites are never
-- deleted.
create table public.transition_proofs (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null,
  contract text not null,
  contract_version text not null,
  entity_id uuid not null,
  from_state text,
  to_state text not null,
  actor_kind text not null,
  actor_id uuid,
  facts jsonb not null default '{}',
  request_hash text,
  occurred_at timestamptz not null,
  hash text not null,
  constraint actor_kind_is_known check (actor_kind in ('user', 'api_key', 'system')),
  constraint proof_hash_is_sha_256 check (hash ~ '^[0-9a-f]{64}$'),
  constraint proven_request_is_sha_256 check (request_hash ~ '^[0-9a-f]{64}$')
);
create index proofs_of_an_entity on public.transition_proofs (entity_id, occurred_at desc, id desc);
create index proofs_of_a_site on public.transition_proofs (site_id, occurred_at desc, id desc);
alter table public.transition_proofs enable row level security;

create trigger proofs_are_permanent before update or delete on public.transition_proofs
  for each row execute function private.refuse_change();
create trigger proofs_are_never_truncated before truncate on public.transition_proofs
  for each statement execute function private.refuse_change();

-- What somebody wrote beside a move. Free text can name a person, so it sits where it can be
-- erased.
create table private.proof_notes (
  proof_id uuid primary key,
  note text not null,
  constraint note_is_bounded check (char_length(note) between 1 and 500)
);
alter table private.proof_notes enable row level security;

-- Proofs that are not in a block yet, with the transaction that wrote them.
create table private.unsealed_proofs (
  proof_id uuid primary key,
  site_id uuid not null,
  written_by xid8 not null default pg_catalog.pg_current_xact_id()
);
alter table private.unsealed_proofs enable row level security;

-- framed: a field with its length in bytes before it, so that two different lists of fields never
-- give the same text. Null is not the empty text. No search_path of its own, so that the planner
-- inlines it: a proof frames twelve fields.
create function private.framed(p_text text) returns text
language sql immutable
as $$
  select case when p_text is null then '-'
    else pg_catalog.octet_length(p_text)::text || ':' || p_text end
$$;

-- proof_hash: over everything a proof says. lib/contracts computes the same from a receipt,
-- without a database. In plpgsql, which keeps its plan.
create function private.proof_hash(p_proof public.transition_proofs) returns text
language plpgsql stable security definer set search_path = ''
as $$
begin
  return private.sha256_hex(
    private.framed(p_proof.id::text)
    || private.framed((select s.public_id from public.sites s where s.id = p_proof.site_id))
    || private.framed(p_proof.contract)
    || private.framed(p_proof.contract_version)
    || private.framed(p_proof.entity_id::text)
    || private.framed(p_proof.from_state)
    || private.framed(p_proof.to_state)
    || private.framed(p_proof.actor_kind)
    || private.framed(p_proof.actor_id::text)
    || private.framed(p_proof.facts::text)
    || private.framed(p_proof.request_hash)
    || private.framed(private.exact_time(p_proof.occurred_at)));
end
$$;

-- prove: writes the proof of one effect, in the transaction of the effect.
--   Takes    p_move {contract, contractVersion, entityId, from, to, facts, note, requestHash}
create function private.prove(p_site_id uuid, p_actor private.actor, p_move jsonb) returns uuid
language plpgsql security definer set search_path = ''
as $$
declare
  v_proof public.transition_proofs;
begin
  v_proof.id := private.uuid_v7();
  v_proof.site_id := p_site_id;
  v_proof.contract := p_move ->> 'contract';
  v_proof.contract_version := p_move ->> 'contractVersion';
  v_proof.entity_id := (p_move ->> 'entityId')::uuid;
  v_proof.from_state := p_move ->> 'from';
  v_proof.to_state := p_move ->> 'to';
  v_proof.actor_kind := p_actor.kind;
  v_proof.actor_id := p_actor.id;
  v_proof.facts := jsonb_strip_nulls(coalesce(p_move -> 'facts', '{}'));
  v_proof.request_hash := p_move ->> 'requestHash';
  v_proof.occurred_at := private.current_moment();
  v_proof.hash := private.proof_hash(v_proof);
  insert into public.transition_proofs values (v_proof.*);
  insert into private.unsealed_proofs (proof_id, site_id) values (v_proof.id, p_site_id);
  if nullif(btrim(p_move ->> 'note'), '') is not null then
    insert into private.proof_notes (proof_id, note)
      values (v_proof.id, left(btrim(p_move ->> 'note'), 500));
  end if;
  return v_proof.id;
end
$$;
