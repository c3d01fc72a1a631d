-- How an owner connects a site, and disconnects it.

-- check_connection: what a connection must satisfy before it is stored.
--   Refuses  400 VALIDATION_FAILED with the field.
create function private.check_connection(p_site public.sites, p_connection jsonb) returns void
language plpgsql stable security definer set search_path = ''
as $$
begin
  if coalesce(p_connection ->> 'provider', 'google_ads') <> 'google_ads' then
    perform private.refuse_setting('provider');
  end if;
  if coalesce(p_connection ->> 'transport', 'data_manager') not in ('data_manager', 'ads_api') then
    perform private.refuse_setting('transport');
  end if;
  if not private.is_plain_text(p_connection ->> 'keyId', 64) then
    perform private.refuse_setting('keyId');
  end if;
  if coalesce(p_connection ->> 'sealed', '') !~ '^[A-Za-z0-9+/]+={0,2}$'
     or char_length(p_connection ->> 'sealed') not between 16 and 16384 then
    perform private.refuse_setting('sealed');
  end if;
  if coalesce(jsonb_typeof(p_connection -> 'account'), 'object') <> 'object'
     or coalesce(p_connection #>> '{account,customerId}', '0') !~ '^[0-9]{1,20}$'
     or coalesce(p_connection #>> '{account,loginCustomerId}', '0') !~ '^[0-9]{1,20}$'
     or coalesce(p_connection #>> '{account,conversionCustomerId}', '0') !~ '^[0-9]{1,20}$'
     or char_length(p_connection #>> '{account,clientIdTail}') > 12 then
    perform private.refuse_setting('account');
  end if;
  if p_connection ? 'actions' then
    perform private.check_actions(p_site, p_connection -> 'actions');
    perform private.check_owner(p_connection ->> 'transport', p_connection -> 'account',
      p_connection -> 'actions');
  end if;
end
$$;

-- keep_connection: stores a connection, as connect_provider says.
create function private.keep_connection(p_site public.sites, p_connection jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_provider text := coalesce(p_connection ->> 'provider', 'google_ads');
  v_transport text := coalesce(p_connection ->> 'transport', 'data_manager');
  v_actor private.actor := private.connecting_actor();
  v_now timestamptz := private.current_moment();
  v_version int;
  v_stopped uuid[];
  v_released int;
begin
  if p_connection ? 'sealAction' and not p_connection ? 'actions' then
    p_connection := private.with_seal_action(p_site, p_connection);
  end if;
  perform private.check_connection(p_site, p_connection);
  perform private.hold_provider(p_site.id, v_provider);
  insert into public.provider_health_state as h (site_id, provider_key, last_version, updated_at)
    values (p_site.id, v_provider, 1, v_now)
    on conflict (site_id, provider_key) do update
      set last_version = h.last_version + 1, quota_until = null, updated_at = excluded.updated_at
    returning h.last_version into v_version;
  insert into public.provider_credentials as c (site_id, provider_key, version, transport, key_id,
      sealed, account, connected_by, connected_at)
    values (p_site.id, v_provider, v_version,
      v_transport, p_connection ->> 'keyId', p_connection ->> 'sealed',
      -- Key by key: whatever else the caller put there is dropped.
      jsonb_strip_nulls(jsonb_build_object(
        'customerId', p_connection #> '{account,customerId}',
        'loginCustomerId', p_connection #> '{account,loginCustomerId}',
        'conversionCustomerId', p_connection #> '{account,conversionCustomerId}',
        'clientIdTail', p_connection #> '{account,clientIdTail}',
        'hasDeveloperToken', p_connection #> '{account,hasDeveloperToken}')),
      auth.uid(), v_now)
    on conflict (site_id, provider_key) do update
      set version = excluded.version, transport = excluded.transport, key_id = excluded.key_id,
          sealed = excluded.sealed, account = excluded.account,
          connected_by = excluded.connected_by, connected_at = excluded.connected_at,
          tested_at = null, test_error = null;
  v_stopped := private.stopped_rows(p_site.id, v_provider);
  if p_connection ? 'actions' then
    perform private.write_actions(p_site, v_provider, p_connection -> 'actions');
  end if;
  v_released := private.release_connection(p_site.id, v_provider, v_actor, '{}')
    + private.requeue_stopped(p_site.id, v_provider, v_actor, v_stopped);
  perform private.mark_elsewhere(p_site.id);
  return jsonb_build_object('version', v_version, 'released', v_released);
end
$$;

-- connecting_actor: the signed-in owner; the system where a service connects.
create function private.connecting_actor() returns private.actor
language sql stable set search_path = ''
as $$
  select case when auth.uid() is null then ('system', null)::private.actor
    else private.user_actor() end
$$;

-- prove_connection: records the proof of a change to the connection, for the activity log.
create function private.prove_connection(
  p_site_id uuid, p_provider_key text, p_move jsonb
) returns void
language sql security definer set search_path = ''
as $$
  select private.prove(p_site_id, private.connecting_actor(), p_move || jsonb_build_object(
    'contractVersion', (p_move ->> 'contract') || '/1', 'entityId', h.connection_id))
  from public.provider_health_state h
  where h.site_id = p_site_id and h.provider_key = p_provider_key
$$;

-- connect_provider: stores a site's credentials, the first ones or new ones.
--   Moves    ends a block and queues the rows that it left FAILED(AUTH), in the same transaction.
--            An action that stays the same keeps its block until a test of it passes. Rows that a
--            blocked action stopped are QUEUED when another action takes its place.
--   Takes    p_connection {provider, transport, keyId, sealed, account, actions? or sealAction?}.
--            sealed comes from lib/vault. sealAction names only the action for sealed conversions,
--            sealActionName what Google calls it, sealActionCounting how it counts.
--            Without actions and sealAction the present actions stay.
--   Safe     against a worker that still uses the old credentials: the version grows, so a refusal
--            of the old ones does not block the new ones.
--   Returns  {version, released}.
--   Refuses  400 VALIDATION_FAILED with the field; 403 SIGN_IN_AGAIN.
--   Callers  owners.
create function public.connect_provider(p_public_id text, p_connection jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  return private.keep_connection(v_site, p_connection);
end
$$;
grant execute on function public.connect_provider(text, jsonb) to authenticated;

-- seed_provider_credentials: connect_provider for staging, by the database's own site id and
-- without an owner. The route that calls it refuses in production.
--   Refuses  404 NOT_FOUND for an unknown or archived site.
--   Callers  service role only.
create function public.seed_provider_credentials(p_site_id uuid, p_connection jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites;
begin
  select s.* into v_site from public.sites s where s.id = p_site_id and s.archived_at is null;
  if v_site.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return private.keep_connection(v_site, p_connection);
end
$$;
grant execute on function public.seed_provider_credentials(uuid, jsonb)
  to opsmantik_app, service_role;

-- require_connected: locks the connection (hold_provider).
--   Returns  its version.
--   Refuses  409 NOT_CONNECTED.
create function private.require_connected(p_site_id uuid, p_provider_key text) returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_version int := private.hold_provider(p_site_id, p_provider_key);
begin
  if v_version is null then
    perform private.fail(409, 'NOT_CONNECTED');
  end if;
  return v_version;
end
$$;

-- disconnect_provider: deletes the credentials and the choice of actions. Waiting rows stay for the
-- next connection; rows in flight are still answered.
--   Safe     to repeat.
--   Refuses  403 SIGN_IN_AGAIN.
--   Callers  owners.
create function public.disconnect_provider(p_public_id text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  if private.hold_provider(v_site.id, 'google_ads') is null then
    return jsonb_build_object('ok', true);
  end if;
  delete from public.provider_credentials c
    where c.site_id = v_site.id and c.provider_key = 'google_ads';
  delete from public.provider_conversion_actions a
    where a.site_id = v_site.id and a.provider_key = 'google_ads';
  update public.provider_health_state h
    set blocked_at = null, blocked_code = null, blocked_message = null, quota_until = null,
        updated_at = private.current_moment()
    where h.site_id = v_site.id and h.provider_key = 'google_ads';
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.disconnect_provider(text) to authenticated;
