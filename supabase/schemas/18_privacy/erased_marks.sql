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

-- mark_of: the mark of an id on one site. Kinds: visitor, click, stamp.
create function private.mark_of(p_site_id uuid, p_kind text, p_id text) returns bytea
language sql immutable set search_path = ''
as $$ select sha256(convert_to(p_site_id || '/' || p_kind || '/' || p_id, 'UTF8')) $$;

-- erased_at: when the person behind an id was erased; null if nobody was. In plpgsql, which keeps
-- its plan: every stored event asks.
create function private.erased_at(p_site_id uuid, p_kind text, p_id text) returns timestamptz
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
    select m.erased_at from private.erased_marks m
    where m.site_id = p_site_id and m.mark = private.mark_of(p_site_id, p_kind, p_id));
end
$$;

-- is_forgotten: true if an event must not be stored: it happened before its visitor was erased, or
-- it reports a call that was erased.
create function private.is_forgotten(p_site_id uuid, p_at timestamptz, p_event jsonb)
returns boolean
language sql stable security definer set search_path = ''
as $$
  select coalesce(p_at <= private.erased_at(p_site_id, 'visitor', p_event ->> 'visitor'), false)
    or private.erased_at(p_site_id, 'stamp', p_event ->> 'intentStamp') is not null
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
