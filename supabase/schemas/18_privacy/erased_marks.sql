-- Tombstones of erased persons. A mark is a hash of a random id (visitor, click or call), never of
-- a telephone number or an e-mail address: those could be guessed from their hash. Marks stay: an
-- erased visitor is never taken to have agreed again.

create table private.erased_marks (
  site_id uuid not null,
  mark bytea not null,
  erased_at timestamptz not null,
  primary key (site_id, mark),
  constraint mark_is_sha_256 check (octet_length(mark) = 32)
);
alter table private.erased_marks enable row level security;

-- mark_of: the mark of an id on one site. Kinds: visitor, click, stamp. Inlined, like uuid_v7:
-- every stored event asks for one.
create function private.mark_of(p_site_id uuid, p_kind text, p_id text) returns bytea
language sql stable
as $$
  select pg_catalog.sha256(
    pg_catalog.convert_to(p_site_id::text || '/' || p_kind || '/' || p_id, 'UTF8'))
$$;

-- is_forgotten: true if an event must not be stored: it happened before its visitor was erased, or
-- it reports a call that was erased.
create function private.is_forgotten(p_site_id uuid, p_at timestamptz, p_event jsonb)
returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (
    select from private.erased_marks m
    where m.site_id = p_site_id
      and (m.mark = private.mark_of(p_site_id, 'stamp', p_event ->> 'intentStamp')
        or (m.mark = private.mark_of(p_site_id, 'visitor', p_event ->> 'visitor')
          and p_at <= m.erased_at)))
$$;

-- sites_with_erasures: the sites of these captured events that erased somebody: only their events
-- need is_forgotten.
create function private.sites_with_erasures(p_rows jsonb) returns uuid[]
language sql stable security definer set search_path = ''
as $$
  select array(
    select distinct b.site_id from public.ingest_fallback_buffer b
    where b.id in (select (r ->> 'id')::uuid from jsonb_array_elements(p_rows) r)
      and exists (select from private.erased_marks m where m.site_id = b.site_id))
$$;

-- mark_erased: writes the tombstones of these ids.
create function private.mark_erased(p_site_id uuid, p_kind text, p_ids text[]) returns void
language sql security definer set search_path = ''
as $$
  insert into private.erased_marks (site_id, mark, erased_at)
    select p_site_id, m.mark, private.current_moment()
    from (
      select distinct private.mark_of(p_site_id, p_kind, i) as mark from unnest(p_ids) i
      where i is not null) m
    order by m.mark
    on conflict (site_id, mark) do update set erased_at = excluded.erased_at
$$;
