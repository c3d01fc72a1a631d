-- Who may use the last units of a plan with a cap.

-- is_lead: whether an event is somebody who reaches out. lib/channels.ts has the same actions.
create function private.is_lead(p_event_name text) returns boolean
language sql immutable set search_path = ''
as $$
  select p_event_name in ('conversion/phone_call', 'conversion/whatsapp', 'conversion/form_submit')
$$;

-- has_lead: whether one of the events is a lead, or a signed one. As a function, so that plpgsql
-- asks only where the open part is used up.
create function private.has_lead(p_events jsonb, p_signed_only boolean) returns boolean
language sql immutable set search_path = ''
as $$
  select exists (
    select from jsonb_array_elements(p_events) e
    where private.is_lead(e ->> 'n') and (not p_signed_only or e ->> 'r' = '2'))
$$;

-- without_room: those of the new events, by position, that find no room when each takes its place
-- in the order sent.
--   Takes    p_places {for what is no lead, for leads, for signed leads}; each includes the one
--            before it.
create function private.without_room(p_events jsonb, p_new int[], p_places bigint[])
returns int[]
language plpgsql immutable set search_path = ''
as $$
declare
  v_position int;
  v_event jsonb;
  v_taken int := 0;
  v_refused int[] := '{}';
begin
  foreach v_position in array p_new loop
    v_event := p_events -> (v_position - 1);
    if v_taken < p_places[case
        when not private.is_lead(v_event ->> 'n') then 1
        when v_event ->> 'r' = '2' then 3
        else 2 end] then
      v_taken := v_taken + 1;
    else
      v_refused := v_refused || v_position;
    end if;
  end loop;
  return v_refused;
end
$$;

-- signed_events: how many of the units kept for leads only signed reports may use: half of them,
-- rounded down, where the site's telephone system can sign. Anybody can send what is not signed,
-- so without this part forged leads could refuse every call for the rest of the month.
create function private.signed_events(p_site_id uuid, p_kept bigint) returns bigint
language sql stable security definer set search_path = ''
as $$
  select case
    when exists (
      select from private.site_secrets x where x.site_id = p_site_id and x.sealed is not null)
    then p_kept / 2 else 0 end
$$;

-- What one address range took of the units kept for leads, by the month. Written only while the
-- open part of a plan is used up, so a site has at most as many lines as it keeps units for leads.
-- purge_usage_origins forgets a month when it is over.
create table private.lead_room_taken (
  site_id uuid not null references public.sites (id),
  year_month text not null,
  network text not null,   -- 203.0.113.0/24, 2001:db8:1::/48
  events bigint not null,
  primary key (site_id, year_month, network),
  constraint network_is_a_range check (network ~ '/(24|48)$')
);
alter table private.lead_room_taken enable row level security;

-- range_room: how many unsigned leads one address range may still take of the units kept for them:
-- a quarter of these units a month, rounded up. Nothing signs a WhatsApp click or a form, so
-- without this part one machine could use up the room of all other visitors. Null where the address
-- is not known: nobody can be told apart there.
create function private.range_room(
  p_site_id uuid, p_year_month text, p_network text, p_unsigned_kept bigint
) returns bigint
language sql stable security definer set search_path = ''
as $$
  select greatest(0, (p_unsigned_kept + 3) / 4 - coalesce((
      select t.events from private.lead_room_taken t
      where t.site_id = p_site_id and t.year_month = p_year_month and t.network = p_network), 0))
  where p_network is not null
$$;

-- note_range: adds what an admission took of the leads' units to its address range.
--   Safe     beside other admissions: the caller holds the site's usage row.
create function private.note_range(
  p_site_id uuid, p_year_month text, p_network text, p_events bigint
) returns void
language sql security definer set search_path = ''
as $$
  insert into private.lead_room_taken as t (site_id, year_month, network, events)
    values (p_site_id, p_year_month, p_network, p_events)
    on conflict (site_id, year_month, network) do update set events = t.events + excluded.events
$$;
