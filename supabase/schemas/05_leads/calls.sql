-- A call is one person who reached out, from what the tracker and a telephone system say of it.

create table public.calls (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  session_id uuid references public.sessions (id),
  visitor_id text not null,   -- whose consent counts
  -- 'system' until the tracker reports it too: only the tracker knows the visit.
  reported_by text not null,
  -- The click's id, the same whoever reports it: one click is one call.
  intent_stamp text not null,
  channel text not null,
  phone text,                 -- the caller's, where a telephone system reported it
  -- HMAC, made by the app, of the SHA-256 of the caller's number in E.164. Sales from elsewhere
  -- find their call by it. Its key is not in the database, so that nobody finds the number by
  -- trying all of them.
  caller_hash text,
  status text not null default 'intent',
  seal_status text not null
    generated always as (case when status = 'sealed' then 'sealed' else 'unsealed' end) stored,
  version int not null default 1,
  last_proof_id uuid,         -- the last move, which is what an undo takes back
  status_at timestamptz,      -- when that was
  gclid text,
  wbraid text,
  gbraid text,
  clicked_at timestamptz,
  marketing_consent boolean not null,
  lead_score int not null,
  score_breakdown jsonb not null,
  page_url text,
  called_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  signed_at timestamptz,      -- the time of a signed report; null while nobody vouches for it
  -- The click ids come from a signed report: no unsigned one replaces them.
  click_is_signed boolean not null default false,
  is_moved boolean not null default false,   -- somebody moved it, and did not undo that
  caller_key_id text,         -- which vault key caller_hash comes from
  contact_name text,          -- who it is, as an operator wrote it down; for operators
  constraint one_call_per_click unique (site_id, intent_stamp),
  constraint reporter_is_known check (reported_by in ('tracker', 'system')),
  constraint system_ids_are_reported_by_systems
    check (intent_stamp not like 'system/%' or reported_by = 'system'),
  constraint channel_is_known check (channel in ('phone', 'whatsapp', 'form')),
  constraint call_status_is_known
    check (status in ('intent', 'qualified', 'meeting', 'sealed', 'junk', 'cancelled')),
  constraint lead_score_is_0_to_100 check (lead_score between 0 and 100),
  constraint caller_hash_is_hex check (caller_hash ~ '^[0-9a-f]{64}$'),
  constraint contact_name_is_plain_text check (
    contact_name is null or private.is_plain_text(contact_name, 80)),
  constraint caller_key_id_is_bounded check (char_length(caller_key_id) <= 64)
);
create index calls_of_a_site on public.calls (site_id, called_at desc, id desc);
create index calls_of_a_visitor on public.calls (site_id, visitor_id);
create index calls_of_a_caller on public.calls (site_id, caller_hash, called_at desc)
  where caller_hash is not null;
create index callers_by_vault_key on public.calls (caller_key_id, id)
  where caller_hash is not null;
create index calls_of_a_gclid on public.calls (site_id, gclid) where gclid is not null;
create index calls_of_a_wbraid on public.calls (site_id, wbraid) where wbraid is not null;
create index calls_of_a_gbraid on public.calls (site_id, gbraid) where gbraid is not null;
-- Exactly the desk's ORDER BY, as calls_of_a_site, so that a page costs the same at any depth. Each
-- view shows few leads among many and has its own index.
create index open_leads_newest_first on public.calls (site_id, called_at desc, id desc)
  where status in ('intent', 'qualified', 'meeting');
create index ended_leads_newest_first on public.calls (site_id, called_at desc, id desc)
  where status in ('junk', 'cancelled');
create index sealed_leads_newest_first on public.calls (site_id, called_at desc, id desc)
  where status = 'sealed';
create index sealed_leads_by_seal on public.calls (site_id, status_at) where status = 'sealed';
-- Operators search by the last digits they see on their telephone. Reversed, an ending is a prefix.
create index leads_by_phone_ending
  on public.calls (site_id, reverse(regexp_replace(phone, '\D', '', 'g')) text_pattern_ops)
  where phone is not null;
create index named_leads on public.calls (site_id, called_at desc) where contact_name is not null;
create index leads_of_a_visit on public.calls (session_id);
-- What changed since a screen last asked. For the queue its ledger answers that: an index on its
-- own updated_at would cost every delivery.
create index changed_leads on public.calls (site_id, updated_at);
alter table public.calls enable row level security;
