-- When we first saw each click of a visitor, by our clock. A browser's clock may be wrong by
-- months.
create table private.click_sightings (
  site_id uuid not null,
  visitor_id text not null,
  click_hash bytea not null,
  first_seen_at timestamptz not null,
  primary key (site_id, visitor_id, click_hash)
);
create index visitors_of_a_click on private.click_sightings (site_id, click_hash);
alter table private.click_sightings enable row level security;

-- click_hashes: one hash for each click id that is given.
create function private.click_hashes(p_gclid text, p_wbraid text, p_gbraid text) returns setof bytea
language sql immutable set search_path = ''
as $$
  select sha256(convert_to(t.kind || '/' || t.id, 'UTF8'))
  from (values ('gclid', p_gclid), ('wbraid', p_wbraid), ('gbraid', p_gbraid)) t (kind, id)
  where t.id is not null
$$;

-- see_click: when we first saw a click of this visitor, by the time at which events happened.
create function private.see_click(p_site_id uuid, p_at timestamptz, p_event jsonb)
returns timestamptz
language sql security definer set search_path = ''
as $$
  with seen as (
    insert into private.click_sightings as c (site_id, visitor_id, click_hash, first_seen_at)
      select p_site_id, p_event ->> 'visitor', h, p_at
      from private.click_hashes(p_event ->> 'gclid', p_event ->> 'wbraid', p_event ->> 'gbraid') h
      on conflict (site_id, visitor_id, click_hash)
        do update set first_seen_at = least(c.first_seen_at, excluded.first_seen_at)
      returning c.first_seen_at)
  select min(s.first_seen_at) from seen s
$$;
