-- A site's credentials for Google's APIs. lib/vault encrypts them before they get here, and no
-- function of the session door returns them. Workers, connection tests and key rotation use the
-- service door. Disconnecting deletes the line.
create table public.provider_credentials (
  site_id uuid not null references public.sites (id),
  provider_key text not null,
  version int not null,                            -- grows: see new_version
  transport text not null,
  key_id text not null,                            -- which vault key sealed it
  sealed text not null,                            -- base64; never leaves through the session door
  account jsonb not null default '{}',             -- may be shown: holds no secret
  connected_by uuid,                               -- null: a service connected it
  connected_at timestamptz not null,
  tested_at timestamptz,                           -- the last test that passed
  test_error jsonb,                                -- of a later test that failed
  primary key (site_id, provider_key),
  constraint provider_is_known check (provider_key = 'google_ads'),
  constraint api_transport_is_known check (transport in ('data_manager', 'ads_api')),
  constraint sealed_is_base64
    check (char_length(sealed) between 16 and 16384 and sealed ~ '^[A-Za-z0-9+/]+={0,2}$'),
  constraint key_id_is_plain_text check (private.is_plain_text(key_id, 64)),
  constraint account_is_bounded
    check (jsonb_typeof(account) = 'object' and char_length(account::text) <= 2000),
  constraint test_error_is_bounded check (char_length(test_error::text) <= 4000)
);
create index credentials_by_vault_key
  on public.provider_credentials (key_id, site_id, provider_key);
alter table public.provider_credentials enable row level security;

-- new_version: outdates what is in flight, so that its answers neither block nor release the
-- connection. The caller has called hold_provider.
--   Returns  the version.
create function private.new_version(p_site_id uuid, p_provider_key text) returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_version int;
begin
  update public.provider_health_state h
    set last_version = h.last_version + 1, updated_at = private.current_moment()
    where h.site_id = p_site_id and h.provider_key = p_provider_key
    returning h.last_version into v_version;
  update public.provider_credentials c set version = v_version
    where c.site_id = p_site_id and c.provider_key = p_provider_key;
  return v_version;
end
$$;

-- provider_credentials_for: what a worker needs to send for a site. Only this function and
-- list_sealed_credentials return the sealed credentials.
--   Returns  {version, transport, keyId, sealed, account, actions: [{conversionName, action,
--            countingType}]}, or null when it is not connected.
--   Callers  service role only.
create function public.provider_credentials_for(p_site_id uuid, p_provider_key text)
returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'version', c.version,
    'transport', c.transport,
    'keyId', c.key_id,
    'sealed', c.sealed,
    'account', c.account,
    'actions', (
      select coalesce(jsonb_agg(jsonb_build_object(
          'conversionName', a.conversion_name, 'action', a.action,
          'countingType', a.counting_type)
        order by a.conversion_name), '[]')
      from public.provider_conversion_actions a
      where a.site_id = c.site_id and a.provider_key = c.provider_key))
  from public.provider_credentials c
  where c.site_id = p_site_id and c.provider_key = p_provider_key
$$;
grant execute on function public.provider_credentials_for(uuid, text)
  to opsmantik_app, service_role;

-- list_sealed_credentials: credentials that one vault key sealed, for the rotation to another.
--   Returns  [{siteUuid, providerKey, version, keyId, sealed}], at most p_limit (1,000).
--   Callers  service role only.
create function public.list_sealed_credentials(p_key_id text, p_limit int default 100)
returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'siteUuid', t.site_id,
      'providerKey', t.provider_key,
      'version', t.version,
      'keyId', t.key_id,
      'sealed', t.sealed)
    order by t.site_id, t.provider_key), '[]')
  from (
    select c.* from public.provider_credentials c
    where c.key_id = p_key_id
    order by c.site_id, c.provider_key
    limit least(greatest(p_limit, 1), 1000)) t
$$;
grant execute on function public.list_sealed_credentials(text, int) to opsmantik_app, service_role;

-- reseal_credentials: stores the same credentials, sealed with another vault key. Their version
-- stays.
--   Safe     against an owner who reconnects meanwhile: only the version that was opened is
--            replaced. Safe to repeat: a line that has the key already is left alone.
--   Returns  {resealed}.
--   Callers  service role only.
create function public.reseal_credentials(
  p_site_id uuid, p_provider_key text, p_version int, p_key_id text, p_sealed text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  update public.provider_credentials c set key_id = p_key_id, sealed = p_sealed
    where c.site_id = p_site_id and c.provider_key = p_provider_key and c.version = p_version
      and c.key_id <> p_key_id;
  return jsonb_build_object('resealed', found);
end
$$;
grant execute on function public.reseal_credentials(uuid, text, int, text, text)
  to opsmantik_app, service_role;
