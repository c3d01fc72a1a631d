-- Contracts: which moves are legal.

-- The legal moves. A new version is new rows; proofs keep naming the version they were made under.
create table public.contracts (
  contract text primary key,
  contract_version text not null
);
alter table public.contracts enable row level security;

insert into public.contracts (contract, contract_version) values
  ('call', 'call/1'),
  ('sale', 'sale/1'),
  ('conversion', 'conversion/1');

create table public.contract_moves (
  contract text not null references public.contracts (contract),
  contract_version text not null,
  from_state text not null,
  to_state text not null,
  undo_only boolean not null default false,   -- only as the undo of the move before
  primary key (contract, contract_version, from_state, to_state)
);
alter table public.contract_moves enable row level security;

-- An undo can lead where an action cannot.
insert into public.contract_moves (contract, contract_version, from_state, to_state, undo_only)
  select split_part(m.version, '/', 1), m.version, m.from_state, t.to_state, m.undo_only
  from (values
    ('call/1', 'intent', false, '{qualified,meeting,sealed,junk,cancelled}'),
    ('call/1', 'qualified', false, '{meeting,sealed,junk,cancelled}'),
    ('call/1', 'qualified', true, '{intent}'),
    ('call/1', 'meeting', false, '{qualified,sealed,junk,cancelled}'),
    ('call/1', 'meeting', true, '{intent}'),
    ('call/1', 'sealed', false, '{cancelled}'),
    ('call/1', 'sealed', true, '{intent,qualified,meeting}'),
    ('call/1', 'junk', false, '{intent}'),
    ('call/1', 'junk', true, '{qualified,meeting}'),
    ('call/1', 'cancelled', false, '{intent,sealed}'),
    ('call/1', 'cancelled', true, '{qualified,meeting}'),
    ('sale/1', 'DRAFT', false, '{CONFIRMED,CANCELED}'),
    ('sale/1', 'CONFIRMED', false, '{CANCELED}'),
    ('sale/1', 'CANCELED', false, '{CONFIRMED}'),
    ('sale/1', 'CANCELED', true, '{DRAFT}'),
    ('conversion/1', 'QUEUED', false, '{QUEUED,FAILED}'),
    ('conversion/1', 'QUEUED', true, '{RETRY,PROCESSING}'),
    ('conversion/1', 'RETRY', false, '{QUEUED,FAILED}'),
    ('conversion/1', 'PROCESSING', false, '{QUEUED,FAILED}'),
    ('conversion/1', 'FAILED', false, '{QUEUED}'),
    ('conversion/1', 'FAILED', true, '{RETRY,PROCESSING}')
  ) m (version, from_state, undo_only, to_states)
  cross join unnest(m.to_states::text[]) t (to_state);

-- contract_version: the version under which moves are made today.
create function private.contract_version(p_contract text) returns text
language sql stable security definer set search_path = ''
as $$ select c.contract_version from public.contracts c where c.contract = p_contract $$;

-- moves_from: the states that an action leads to from here.
create function private.moves_from(p_contract text, p_from text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(m.to_state order by m.to_state), '[]')
  from public.contract_moves m
  join public.contracts c using (contract, contract_version)
  where m.contract = p_contract and m.from_state = p_from and not m.undo_only
$$;

-- require_move: the version under which this move is legal, or 409 with what is allowed from here.
create function private.require_move(
  p_contract text, p_from text, p_to text, p_as_undo boolean default false
) returns text
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_version text := private.contract_version(p_contract);
begin
  if not exists (
      select from public.contract_moves m
      where m.contract = p_contract and m.contract_version = v_version
        and m.from_state = p_from and m.to_state = p_to
        and (p_as_undo or not m.undo_only)) then
    perform private.fail(409, 'ILLEGAL_MOVE', jsonb_build_object(
      'from', p_from,
      'to', p_to,
      'contract_version', v_version,
      'allowed', private.moves_from(p_contract, p_from)));
  end if;
  return v_version;
end
$$;

-- list_contract_moves: the legal moves of the current versions, for screens and documents.
--   Callers  anyone who is signed in.
create function public.list_contract_moves() returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_agg(jsonb_build_object(
    'contract', m.contract,
    'contractVersion', m.contract_version,
    'from', m.from_state,
    'to', m.to_state,
    'undoOnly', m.undo_only)
    order by m.contract, m.from_state, m.to_state)
  from public.contract_moves m
  join public.contracts c using (contract, contract_version)
$$;
grant execute on function public.list_contract_moves() to authenticated;
