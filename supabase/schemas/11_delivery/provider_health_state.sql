-- Providers: the state of a site's API delivery. The credentials, the circuit, the block, the
-- ledger of attempts and its counters. provider_key is the ad platform; a site has one connection
-- to it. Locks: the (site, provider) first, then its health row, sales by id and queue rows.
-- Whoever holds a sale already never waits for a health row: it takes hold_provider before the
-- sales.

-- The circuit and the block of a (site, provider). They are separate: the circuit opens when the
-- provider fails and closes by itself, the block waits for a person.
create table public.provider_health_state (
  site_id uuid not null references public.sites (id),
  provider_key text not null,
  connection_id uuid not null default private.uuid_v7(),   -- the connection in proofs
  last_version int not null default 0,             -- of the credentials, also after they are gone
  state text not null default 'CLOSED',
  failure_count int not null default 0,            -- transient failures in a row
  next_probe_at timestamptz,
  probe_limit int not null default 5,
  probe_token uuid,                                -- the batch that probes
  probe_until timestamptz,                         -- when it is presumed dead
  blocked_at timestamptz,
  blocked_code text,
  blocked_message text,
  quota_until timestamptz,                         -- how long Google asked us to wait
  last_success_at timestamptz,
  last_failure_at timestamptz,
  last_failure_code text,
  updated_at timestamptz not null,
  primary key (site_id, provider_key),
  constraint circuit_state_is_known check (state in ('CLOSED', 'OPEN', 'HALF_OPEN')),
  constraint five_failures_open_the_circuit
    check (failure_count >= 0 and (state = 'CLOSED') = (failure_count < 5)),
  constraint open_circuits_have_a_probe_time check ((state = 'CLOSED') = (next_probe_at is null)),
  constraint half_open_circuits_have_one_probe check (
    num_nonnulls(probe_token, probe_until) = case state when 'HALF_OPEN' then 2 else 0 end),
  constraint probe_limit_is_bounded check (probe_limit between 1 and 100),
  constraint blocks_say_why check (
    num_nonnulls(blocked_at, blocked_code) in (0, 2)
    and (blocked_message is null or blocked_at is not null)),
  constraint health_text_is_bounded check (char_length(blocked_code) <= 64
    and char_length(blocked_message) <= 1024 and char_length(last_failure_code) <= 64),
  constraint version_only_grows check (last_version >= 0)
);
create index half_open_circuits on public.provider_health_state (probe_until)
  where state = 'HALF_OPEN';
alter table public.provider_health_state enable row level security;

-- provider_lock: the number of the lock of a (site, provider). Workers share it for each batch; not
-- the lock of the health row, since sharing that one is written to the row and to the log. Who
-- shares it must not take it alone afterwards: two of them would wait for each other. Inlined.
create function private.provider_lock(p_site_id uuid, p_provider_key text) returns bigint
language sql immutable
as $$ select pg_catalog.hashtextextended(p_site_id::text || p_provider_key, 0) $$;

-- hold_provider: lock the (site, provider) until the transaction ends. Before its health row and
-- before sales, always.
--   Returns  the version of its credentials; null when it is not connected. Nobody changes them
--            while the lock is held, so an answer made with another version is known to be old.
create function private.hold_provider(p_site_id uuid, p_provider_key text) returns int
language plpgsql security definer set search_path = ''
as $$
begin
  perform pg_advisory_xact_lock(private.provider_lock(p_site_id, p_provider_key));
  perform from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key for update;
  return (select c.version from public.provider_credentials c
          where c.site_id = p_site_id and c.provider_key = p_provider_key);
end
$$;

-- note_quota: Google asked us to wait. The site's health row is locked.
--   Writes   quota_until of the site; with p_is_shared also of every site with the same
--            OAuth client (known by the end of its id): the quota is the client's, and asking for
--            each site would spend an attempt of its rows.
--   Safe     beside other batches: a site whose health row is locked is skipped, because its
--            holder is about to get the same answer.
create function private.note_quota(
  p_site_id uuid, p_provider_key text, p_until timestamptz, p_is_shared boolean
) returns void
language sql security definer set search_path = ''
as $$
  with waiting as (
    select h.site_id from public.provider_health_state h
    where h.provider_key = p_provider_key and (h.site_id = p_site_id or (p_is_shared
      and h.site_id in (
        select c.site_id from public.provider_credentials c
          join public.provider_credentials own
            on own.site_id = p_site_id and own.provider_key = p_provider_key
              and own.account ->> 'clientIdTail' = c.account ->> 'clientIdTail'
        where c.provider_key = p_provider_key)))
    for update skip locked)
  update public.provider_health_state h
    set quota_until = greatest(h.quota_until, p_until), updated_at = private.current_moment()
    from waiting w
    where h.site_id = w.site_id and h.provider_key = p_provider_key
$$;

-- open_connections: each (site, provider) of which something may be sent, sooner or later: a site
-- that sends by API, connected, neither blocked nor paused. The circuit may be open. pass_gate asks
-- the same of one site, under its lock.
create view private.open_connections as
  select c.site_id, c.provider_key, c.transport, coalesce(h.state, 'CLOSED') as state,
    coalesce(h.probe_limit, 5) as probe_limit, h.next_probe_at, t.served_at
  from public.provider_credentials c
    join public.sites s on s.id = c.site_id and s.oci_sync_method = 'api' and s.archived_at is null
    left join public.provider_health_state h
      on h.site_id = c.site_id and h.provider_key = c.provider_key
    left join private.delivery_turns t
      on t.site_id = c.site_id and t.provider_key = c.provider_key and t.pipeline = 'seals'
  where h.blocked_at is null and not private.is_paused(s)
    and (h.quota_until is null or h.quota_until <= private.current_moment());
