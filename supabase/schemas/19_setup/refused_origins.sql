-- Hosts whose pages were refused because the site does not list them. An owner sees one of them and
-- adds it with one press. Anybody who knows a public id can invent hosts, so a host counts by how
-- many address ranges saw it: one range has five places, and its next host takes the place of its
-- own oldest. What one range alone saw is forgotten after a day, the rest after a week.

create table private.refused_origins (
  site_id uuid not null references public.sites (id),
  host text not null,
  network text not null,   -- 203.0.113.0/24, 2001:db8:1::/48; '' where it is not known
  first_at timestamptz not null,
  last_at timestamptz not null,
  days int not null default 1,   -- on how many days
  primary key (site_id, host, network),
  constraint refused_host_is_bounded check (char_length(host) <= 253),
  constraint network_is_a_range check (network = '' or network ~ '/(24|48)$')
);
alter table private.refused_origins enable row level security;

-- is_subdomain: true if a host belongs to a domain that the site lists.
create function private.is_subdomain(p_site public.sites, p_host text) returns boolean
language sql immutable set search_path = ''
as $$
  select coalesce(bool_or(right(p_host, char_length(l) + 1) = '.' || l), false)
  from unnest(p_site.domains) l
$$;

-- refused_hosts: what was refused and is still not listed, the likeliest first: hosts that three
-- address ranges saw, then subdomains of a listed domain, then by ranges, days and time.
create function private.refused_hosts(p_site public.sites)
returns table (
  host text, first_at timestamptz, last_at timestamptz, ranges bigint, is_subdomain boolean,
  place bigint
)
language sql stable security definer set search_path = ''
as $$
  select t.host, t.first_at, t.last_at, t.ranges, t.is_subdomain, row_number() over (
    order by t.ranges >= 3 desc, t.is_subdomain desc, t.ranges desc, t.days desc, t.first_at,
      t.host)
  from (
    select r.host, min(r.first_at) as first_at, max(r.last_at) as last_at, max(r.days) as days,
      count(*) as ranges, private.is_subdomain(p_site, r.host) as is_subdomain
    from private.refused_origins r
    where r.site_id = p_site.id and r.host <> all (p_site.domains)
      and r.last_at >= private.current_moment() - interval '7 days'
    group by r.host) t
  where t.ranges > 1 or t.last_at >= private.current_moment() - interval '1 day'
$$;

-- note_refused_origin: notes that an address range saw a host refused.
--   Safe     from a flood: the app asks at most every few seconds for a range, and once a second
--            for a site; a range has five lines, a host eight, a site 200. A full site drops a host
--            that the fewest ranges saw, of those the one seen longest ago.
--   Callers  service role only.
create function public.note_refused_origin(p_site_id uuid, p_host text, p_network text default null)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_host text := left(p_host, 253);
  v_network text := coalesce(p_network, '');
  v_site public.sites;
begin
  perform pg_catalog.pg_advisory_xact_lock(hashtextextended('refused/' || p_site_id, 0));
  select s.* into v_site from public.sites s where s.id = p_site_id;
  update private.refused_origins r
    set last_at = v_now,
        days = r.days + (date_trunc('day', r.last_at, 'UTC') < date_trunc('day', v_now, 'UTC'))::int
    where r.site_id = p_site_id and r.host = v_host and r.network = v_network;
  if found or 8 <= (select count(*) from private.refused_origins r
      where r.site_id = p_site_id and r.host = v_host) then
    return jsonb_build_object('ok', true);
  end if;
  delete from private.refused_origins r
    where r.site_id = p_site_id
      and r.host not in (select h.host from private.refused_hosts(v_site) h);
  delete from private.refused_origins r
    where r.site_id = p_site_id and r.network = v_network and r.host in (
      select x.host from private.refused_origins x
      where x.site_id = p_site_id and x.network = v_network
      order by x.last_at desc, x.host offset 4);
  if 200 <= (select count(*) from private.refused_origins r where r.site_id = p_site_id) then
    delete from private.refused_origins r
      where r.site_id = p_site_id and r.host = (
        select h.host from private.refused_hosts(v_site) h order by h.ranges, h.last_at limit 1);
  end if;
  insert into private.refused_origins (site_id, host, network, first_at, last_at)
    values (p_site_id, v_host, v_network, v_now, v_now);
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.note_refused_origin(uuid, text, text)
  to opsmantik_app, service_role;

-- refused_host: the likeliest refused host; null without one.
--   Returns  {host, at, isSubdomain}.
create function private.refused_host(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('host', h.host, 'at', h.first_at, 'isSubdomain', h.is_subdomain)
  from private.refused_hosts(p_site) h where h.place = 1
$$;

-- add_site_domain: adds one host to the site's list.
--   Safe     to repeat, and beside a change of the list: the row is locked.
--   Refuses  400 INVALID_DOMAIN; 409 TOO_MANY with 20 on the list.
--   Callers  owners.
create function public.add_site_domain(p_public_id text, p_host text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  select s.* into v_site from public.sites s where s.id = v_site.id for no key update;
  if p_host = any (v_site.domains) then
    return jsonb_build_object('ok', true);
  end if;
  if cardinality(v_site.domains) >= 20 then
    perform private.fail(409, 'TOO_MANY');
  end if;
  perform private.check_site_fields(
    v_site.name, v_site.domains || p_host, v_site.currency, v_site.timezone);
  update public.sites s
    set domains = s.domains || p_host, updated_at = private.current_moment()
    where s.id = v_site.id;
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.add_site_domain(text, text) to authenticated;
