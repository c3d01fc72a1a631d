-- Which site a key speaks for, and what it may be used for.

-- live_key_site: the site that a key speaks for; null for a revoked key or an archived site.
create function private.live_key_site(p_key public.site_api_keys) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'siteUuid', s.id,
    'siteId', s.public_id,
    'keyId', p_key.id,
    'scopes', p_key.scopes,
    'ociSyncMethod', s.oci_sync_method)
  from public.sites s
  where s.id = p_key.site_id and p_key.revoked_at is null and s.archived_at is null
$$;

-- authenticate_api_key: which site a key speaks for, by the key's SHA-256. Looking up a hash leaks
-- nothing about the key.
--   Takes    p_scopes: those that are enough, the narrowest first. The first one that the key has
--            is noted as used. The answer tells the caller whether it has any.
--   Returns  {siteUuid, siteId, keyId, scopes, ociSyncMethod}, or null.
--   Callers  service role only.
create function public.authenticate_api_key(p_key_hash text, p_scopes text[]) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_key public.site_api_keys;
  v_site jsonb;
  v_scope text;
  v_now timestamptz := private.current_moment();
  v_used_at timestamptz;
begin
  select k.* into v_key from public.site_api_keys k where k.key_hash = p_key_hash;
  v_site := private.live_key_site(v_key);
  select w.scope into v_scope from unnest(p_scopes) with ordinality w (scope, place)
    where w.scope = any (v_key.scopes) order by w.place limit 1;
  -- "Last used" is for people. Once a minute is enough, so a busy key is not a hot row.
  v_used_at := v_key.scope_used ->> v_scope;
  if v_site is not null and v_scope is not null
     and (v_used_at is null or v_used_at < v_now - interval '1 minute') then
    update public.site_api_keys k
      set scope_used = k.scope_used || jsonb_build_object(v_scope, v_now)
      where k.id = v_key.id;
  end if;
  return v_site;
end
$$;
grant execute on function public.authenticate_api_key(text, text[]) to opsmantik_app, service_role;

-- api_key_site: the same by the key's id, for script sessions: a session dies with its key.
--   Callers  service role only.
create function public.api_key_site(p_key_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select private.live_key_site(k) from public.site_api_keys k where k.id = p_key_id
$$;
grant execute on function public.api_key_site(uuid) to opsmantik_app, service_role;

-- key_site_id: the site that a key speaks for. The key may have been revoked or narrowed after the
-- guard let it in.
--   Takes    p_scopes: those that are enough.
--   Refuses  401 INVALID_API_KEY, 403 INSUFFICIENT_SCOPE with what is needed and what the key has.
create function private.key_site_id(p_key_id uuid, p_scopes text[]) returns uuid
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_key jsonb := public.api_key_site(p_key_id);
begin
  if v_key is null then
    perform private.fail(401, 'INVALID_API_KEY');
  end if;
  if not v_key -> 'scopes' ?| p_scopes then
    perform private.fail(403, 'INSUFFICIENT_SCOPE',
      jsonb_build_object('needs', p_scopes, 'scopes', v_key -> 'scopes'));
  end if;
  return (v_key ->> 'siteUuid')::uuid;
end
$$;

-- contract_scopes: which scopes let a key move something: its own, or the one for all contracts.
create function private.contract_scopes(p_contract text) returns text[]
language sql immutable set search_path = ''
as $$
  select case p_contract
    when 'call' then '{calls,contracts}'::text[]
    when 'sale' then '{sales,contracts}'
    else '{contracts}' end
$$;
