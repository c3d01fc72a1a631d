-- Contracts: which moves are legal.

-- The legal moves. A new version is new rows; proofs keep naming the version they were made under.
create table public.contracts (
  contract text primary key,
  contract_version text not null
);
alter table public.contracts enable row level security;

insert into public.contracts (contract, contract_version) values ('call', 'call/1'), ('sale', 'sale/1'), ('conversion', 'conversion/1');

create table public.contract_moves (
  contract text not null references public.contracts (contract),
  contract_version text not null,
  from_state text not null,
  to_state text not null,
  undo_only boolean not null default false,        -- reachable by taking back the move before, within the undo window
  primary key (contract, contract_version, from_state, to_state)
);
alter table public.contract_moves enable row level security;

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
-- Taking back an action can lead where an action can not.
insert into public.contract_moves (contract, contract_version, from_state, to_state, undo_only)
  select 'conversion', 'conversion/1', f, t, true from (values ('QUEUED', 'RETRY'), ('QUEUED', 'PROCESSING'), ('FAILED', 'RETRY'), ('FAILED', 'PROCESSING')) m (f, t);

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

-- list_contract_moves: the legal moves of the current versions, for screens and documents.
--   Callers  anyone who is signed in.
create function public.list_contract_moves() returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_agg(jsonb_build_object('contract', m.contract, 'contractVersion', m.contract_version, 'from', m.from_state, 'to', m.to_state,
           'undoOnly', m.undo_only) order by m.contract, m.from_state, m.to_state)
  from public.contract_moves m join public.contracts c on c.contract = m.contract and c.contract_version = m.contract_version
$$;
grant execute on function public.list_contract_moves() to authenticated;
