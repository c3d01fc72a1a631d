-- Contracts: which moves are legal, one answer per key, and a proof of every move.
-- An effect, its proof and the stored answer commit together or not at all; that is why all three live here.

-- The answer to a request that carried a key. A row is committed only together with its answer: a request that is still
-- under way is seen by its twin as a lock on the unique index, and by nobody else.
create table public.hos_idempotency_keys (
  id uuid primary key default private.uuid_v7(),
  tenant_id uuid not null,                         -- the site whose record is changed
  scope text not null,
  key text not null,
  request_hash text not null,
  status text not null default 'processing',
  response_status int,
  response_json text,                              -- the bytes that were answered: text, because jsonb would write them anew
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null,
  constraint one_answer_per_key unique (tenant_id, scope, key),
  constraint scope_is_bounded check (char_length(scope) between 1 and 64),
  constraint key_has_1_to_255_characters check (char_length(key) between 1 and 255),
  constraint request_hash_is_sha_256 check (request_hash ~ '^[0-9a-f]{64}$'),
  constraint key_status_is_known check (status in ('processing', 'completed', 'failed')),
  constraint finished_keys_have_an_answer check ((status = 'processing') = (response_json is null and response_status is null))
);
create index keys_by_expiry on public.hos_idempotency_keys (expires_at);

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

alter table public.hos_idempotency_keys enable row level security;
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

-- idempotency_ttl: how long an answer can be asked for again. Longer than any caller's own retries;
-- "alter database … set opsmantik.idempotency_ttl" changes it.
create function private.idempotency_ttl() returns interval
language sql stable set search_path = ''
as $$ select coalesce(nullif(current_setting('opsmantik.idempotency_ttl', true), '')::interval, interval '7 days') $$;

-- problem_text: a refusal as the bytes that a caller gets. The request's id is in the header: the same bytes must come again.
create function private.problem_text(p_status int, p_code text, p_facts jsonb) returns text
language sql immutable set search_path = ''
as $$
  select (jsonb_build_object('type', 'https://opsmantik.com/errors#' || p_code, 'status', p_status, 'code', p_code,
    'title', left(p_code, 1) || lower(replace(substr(p_code, 2), '_', ' ')) || '.') || coalesce(p_facts, '{}'))::text
$$;

-- answer_once: run an effect and keep its answer under the caller's key, or give the kept answer again.
--   Takes    p_effect: a function of ours (jsonb) -> jsonb. Without a key it just runs.
--   Safe     against a twin at the same moment: it waits at the unique index and then replays. After 5 s it gives up: 409, try again.
--   Keeps    answers and deterministic refusals (409). Anything else that fails leaves nothing, so a retry runs again.
--   Returns  {status, replayed, body}: the body is text, served as it is.
--   Refuses  400 for a key that is empty or longer than 255 characters, 422 for a key that was used with another request.
create function private.answer_once(p_tenant_id uuid, p_scope text, p_key text, p_request_hash text, p_effect regproc, p_args jsonb) returns jsonb
language plpgsql security definer set search_path = '' set lock_timeout = '5s'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_kept public.hos_idempotency_keys;
  v_id uuid;
  v_answer jsonb;
  v_body text;
  v_status int := 200;
  v_state text;
  v_code text;
  v_facts text;
begin
  if p_key is null then
    execute format('select %s($1)', p_effect) into v_answer using p_args;
    return jsonb_build_object('status', 200, 'replayed', false, 'body', v_answer::text);
  end if;
  if char_length(p_key) not between 1 and 255 then
    perform private.fail(400, 'INVALID_IDEMPOTENCY_KEY');
  end if;
  for v_try in 1..3 loop   -- the one we met may have rolled back, or run out, before we could read it
    begin
      insert into public.hos_idempotency_keys (tenant_id, scope, key, request_hash, created_at, updated_at, expires_at)
        values (p_tenant_id, p_scope, p_key, p_request_hash, v_now, v_now, v_now + private.idempotency_ttl())
        on conflict (tenant_id, scope, key) do nothing
        returning id into v_id;
    exception when lock_not_available then
      perform private.fail(409, 'REQUEST_IN_FLIGHT');
    end;
    exit when v_id is not null;
    select k.* into v_kept from public.hos_idempotency_keys k
      where k.tenant_id = p_tenant_id and k.scope = p_scope and k.key = p_key;
    if v_kept.id is not null then
      if v_kept.request_hash <> p_request_hash then
        perform private.fail(422, 'IDEMPOTENCY_KEY_REUSED');
      end if;
      return jsonb_build_object('status', v_kept.response_status, 'replayed', true, 'body', v_kept.response_json);
    end if;
  end loop;
  if v_id is null then
    perform private.fail(409, 'REQUEST_IN_FLIGHT');
  end if;
  begin
    execute format('select %s($1)', p_effect) into v_answer using p_args;
    v_body := v_answer::text;
  exception when sqlstate 'PT409' then
    get stacked diagnostics v_code = message_text, v_facts = pg_exception_detail;
    v_status := 409;
    v_body := private.problem_text(409, v_code, nullif(v_facts, '')::jsonb);
  end;
  update public.hos_idempotency_keys k
    set status = case when v_status < 400 then 'completed' else 'failed' end, response_status = v_status, response_json = v_body,
        updated_at = v_now
    where k.id = v_id;
  return jsonb_build_object('status', v_status, 'replayed', false, 'body', v_body);
end
$$;

-- answer_plainly: for a change whose key is optional. With one, as answer_once; without, the effect's answer as it is.
create function private.answer_plainly(p_tenant_id uuid, p_scope text, p_key text, p_request_hash text, p_effect regproc, p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_answer jsonb;
begin
  if p_key is not null then
    return private.answer_once(p_tenant_id, p_scope, p_key, p_request_hash, p_effect, p_args);
  end if;
  execute format('select %s($1)', p_effect) into v_answer using p_args;
  return v_answer;
end
$$;

-- purge_idempotency_keys: forget answers that ran out. At most p_limit a call; one in flight is not committed, so it is never seen here.
--   Returns  {purged}.
--   Callers  service role only (daily cron).
create function public.purge_idempotency_keys(p_limit int default 5000) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  delete from public.hos_idempotency_keys k where k.id in (
    select x.id from public.hos_idempotency_keys x
    where x.expires_at < private.current_moment() and x.status <> 'processing'
    order by x.expires_at limit least(greatest(p_limit, 1), 20000) for update skip locked);
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;

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

-- key_site_id: the site that a key speaks for, or 401: it may have been revoked after the guard let it in.
create function private.key_site_id(p_key_id uuid) returns uuid
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site_id uuid := (public.api_key_site(p_key_id) ->> 'siteId')::uuid;
begin
  if v_site_id is null then
    perform private.fail(401, 'INVALID_API_KEY');
  end if;
  return v_site_id;
end
$$;

-- get_proof_for_key: the same for the site that a key speaks for.
--   Callers  service role only.
create function public.get_proof_for_key(p_key_id uuid, p_proof_id uuid) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site_id uuid := private.key_site_id(p_key_id);
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
grant execute on function public.get_proof_for_key(uuid, uuid), public.purge_idempotency_keys(int), public.seal_proof_blocks() to opsmantik_app, service_role;
