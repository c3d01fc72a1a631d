-- Contracts: which moves are legal, and a proof of every move. An effect and its proof commit together or not at all.

-- The legal moves. A new version is new rows; proofs keep naming the version they were made under.
create table public.contracts (
  contract text primary key,
  contract_version text not null
);
create table public.contract_moves (
  contract text not null references public.contracts (contract),
  contract_version text not null,
  from_state text not null,
  to_state text not null,
  undo_only boolean not null default false,        -- reachable by taking back the move before, within the undo window
  primary key (contract, contract_version, from_state, to_state)
);

-- One row per effect: ids, amounts and hashes only, so that it never has to be erased. There is no foreign key to sites: it would
-- lock the site's row once per move, and sites are never deleted.
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

-- What somebody wrote beside a move. Free words can name a person, so they sit where they can be erased.
create table private.proof_notes (
  proof_id uuid primary key,
  note text not null,
  constraint note_is_bounded check (char_length(note) between 1 and 500)
);

-- Committed proofs in order, each block holding the root of the one before. Blocks are made after the fact, so no move waits for another.
create table public.proof_blocks (
  site_id uuid not null,
  number int not null,
  first_proof uuid not null,
  last_proof uuid not null,
  proof_ids uuid[] not null,
  previous_root text not null,
  root text not null,
  sealed_at timestamptz not null,
  primary key (site_id, number)
);

-- What is not in a block yet: the sealer's list of work, with the transaction that wrote it.
create table private.unsealed_proofs (
  proof_id uuid primary key,
  site_id uuid not null,
  written_by xid8 not null default pg_catalog.pg_current_xact_id()
);

alter table public.contracts enable row level security;
alter table public.contract_moves enable row level security;
alter table public.transition_proofs enable row level security;
alter table public.proof_blocks enable row level security;
alter table private.proof_notes enable row level security;
alter table private.unsealed_proofs enable row level security;

create trigger proofs_are_permanent before update or delete on public.transition_proofs
  for each row execute function private.refuse_change();
create trigger proofs_are_never_truncated before truncate on public.transition_proofs
  for each statement execute function private.refuse_change();
create trigger blocks_are_permanent before update or delete on public.proof_blocks
  for each row execute function private.refuse_change();
create trigger blocks_are_never_truncated before truncate on public.proof_blocks
  for each statement execute function private.refuse_change();

-- Who acts: a member by id, a machine by its key's id, or the system.
create type private.actor as (kind text, id uuid);

create function private.user_actor() returns private.actor
language sql stable set search_path = ''
as $$ select ('user', auth.uid())::private.actor $$;

-- framed: a field with its length in bytes before it, so that no two lists of fields run together. Null is not the empty text.
create function private.framed(p_text text) returns text
language sql immutable set search_path = ''
as $$ select case when p_text is null then '-' else octet_length(p_text) || ':' || p_text end $$;

create function private.exact_time(p_at timestamptz) returns text
language sql stable set search_path = ''
as $$ select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') $$;

-- proof_hash: over everything a proof says. lib/contracts computes the same from a receipt, without a database.
create function private.proof_hash(p_proof public.transition_proofs) returns text
language sql stable security definer set search_path = ''
as $$
  select encode(sha256(convert_to(
    private.framed(p_proof.id::text)
    || private.framed((select s.public_id from public.sites s where s.id = p_proof.site_id))
    || private.framed(p_proof.contract) || private.framed(p_proof.contract_version) || private.framed(p_proof.entity_id::text)
    || private.framed(p_proof.from_state) || private.framed(p_proof.to_state)
    || private.framed(p_proof.actor_kind) || private.framed(p_proof.actor_id::text)
    || private.framed(p_proof.facts::text) || private.framed(p_proof.request_hash) || private.framed(private.exact_time(p_proof.occurred_at)),
  'UTF8')), 'hex')
$$;

-- prove: write the proof of one effect, in the transaction of the effect.
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
    insert into private.proof_notes (proof_id, note) values (v_proof.id, left(btrim(p_move ->> 'note'), 500));
  end if;
  return v_proof.id;
end
$$;

-- require_move: the version under which this move is legal, or 409 with what is allowed from here.
create function private.require_move(p_contract text, p_from text, p_to text, p_as_undo boolean default false) returns text
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_version text := (select c.contract_version from public.contracts c where c.contract = p_contract);
begin
  if not exists (select from public.contract_moves m
                 where m.contract = p_contract and m.contract_version = v_version and m.from_state = p_from and m.to_state = p_to
                   and (p_as_undo or not m.undo_only)) then
    perform private.fail(409, 'ILLEGAL_MOVE', jsonb_build_object('from', p_from, 'to', p_to, 'contract_version', v_version,
      'allowed', private.moves_from(p_contract, p_from)));
  end if;
  return v_version;
end
$$;

create function private.moves_from(p_contract text, p_from text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(m.to_state order by m.to_state), '[]')
  from public.contract_moves m join public.contracts c on c.contract = m.contract and c.contract_version = m.contract_version
  where m.contract = p_contract and m.from_state = p_from and not m.undo_only
$$;
