-- API keys and the call-event secret: how machines prove which site they speak for.
-- A key has scopes, the least by default:
--   script     the Google Ads Script: verify, export, ack, ack-failed
--   calls      moves of leads, at the contract endpoint
--   sales      sales from elsewhere, and moves of sales at the contract endpoint
--   contracts  every move at the contract endpoint

-- list_site_api_keys: what an owner may know of a key: everything but the key.
--   Callers  owners.
create function public.list_site_api_keys(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('id', k.id, 'name', k.name, 'prefix', k.prefix,
             'scopes', k.scopes, 'scopeUsed', k.scope_used, 'createdAt', k.created_at,
             'revokedAt', k.revoked_at) order by k.revoked_at is not null, k.created_at desc, k.id), '[]')
    from public.site_api_keys k where k.site_id = v_site.id);
end
$$;

-- read_scopes: scopes as asked for, each once and in their order. Refuses none and unknown ones.
create function private.read_scopes(p_scopes text[]) returns text[]
language plpgsql immutable set search_path = ''
as $$
declare
  v_scopes text[] := array(select s from unnest('{script,calls,sales,contracts}'::text[])
    with ordinality k (s, place) where s = any (p_scopes) order by place);
begin
  if cardinality(v_scopes) = 0 or not p_scopes <@ v_scopes then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "scopes"}');
  end if;
  return v_scopes;
end
$$;

-- create_site_api_key: a new key. Only its SHA-256 is kept; a 192-bit random key needs no slow hash.
--   Returns  {id, key, prefix}: the one time the key is seen.
--   Refuses  more than 20 live keys of one site.
--   Callers  owners.
create function public.create_site_api_key(
  p_public_id text, p_name text, p_scopes text[] default '{script}'
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
  v_key text := 'om_' || encode(extensions.gen_random_bytes(24), 'hex');
  v_id uuid;
begin
  perform from public.sites s where s.id = v_site.id for update;   -- the count below holds until commit
  if (select count(*) from public.site_api_keys k where k.site_id = v_site.id and k.revoked_at is null) >= 20 then
    perform private.fail(409, 'TOO_MANY');
  end if;
  insert into public.site_api_keys
      (site_id, name, prefix, key_hash, scopes, created_by, created_at)
    values (v_site.id, p_name, left(v_key, 11), encode(sha256(convert_to(v_key, 'UTF8')), 'hex'),
      private.read_scopes(p_scopes), auth.uid(), private.current_moment())
    returning id into v_id;
  return jsonb_build_object('id', v_id, 'key', v_key, 'prefix', left(v_key, 11));
end
$$;

-- revoke_site_api_key: the key stops working at once, and so do script sessions opened with it.
--   Safe     to repeat: the first time stays.
--   Callers  owners.
create function public.revoke_site_api_key(p_public_id text, p_key_id uuid) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  update public.site_api_keys k set revoked_at = coalesce(k.revoked_at, private.current_moment())
    where k.id = p_key_id and k.site_id = v_site.id;
  if not found then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return jsonb_build_object('ok', true);
end
$$;

-- narrow_site_api_key: the key keeps these scopes and loses the others at once. Sessions of the
-- Google Ads Script end with `script`.
--   Safe     two owners at once: the second is measured against what the first left.
--   Refuses  409 SCOPE_NOT_HELD: a key never gains a scope. 404 for a revoked one.
--   Returns  {scopes}.
--   Callers  owners.
create function public.narrow_site_api_key(
  p_public_id text, p_key_id uuid, p_scopes text[]
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
  v_scopes text[] := private.read_scopes(p_scopes);
  v_key public.site_api_keys;
begin
  select k.* into v_key from public.site_api_keys k
    where k.id = p_key_id and k.site_id = v_site.id and k.revoked_at is null for update;
  if v_key.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if not v_scopes <@ v_key.scopes then
    perform private.fail(409, 'SCOPE_NOT_HELD', jsonb_build_object('scopes', v_key.scopes));
  end if;
  update public.site_api_keys k set scopes = v_scopes where k.id = v_key.id;
  return jsonb_build_object('scopes', v_scopes);
end
$$;

-- call_event_secret: show the secret that signs call events, or replace it first. The replaced one stays valid until the next.
--   Returns  {secret, rotatedAt}.
--   Callers  owners.
create function public.call_event_secret(p_public_id text, p_rotate boolean default false) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  if p_rotate then
    update private.site_secrets x
      set previous_call_event_secret = x.call_event_secret, call_event_secret = encode(extensions.gen_random_bytes(32), 'hex'),
          rotated_at = private.current_moment()
      where x.site_id = v_site.id;
  end if;
  return (select jsonb_build_object('secret', x.call_event_secret, 'rotatedAt', x.rotated_at)
          from private.site_secrets x where x.site_id = v_site.id);
end
$$;

-- live_key_site: the site a key that is neither revoked nor of an archived site speaks for.
create function private.live_key_site(p_key public.site_api_keys) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('siteId', s.id, 'publicId', s.public_id, 'keyId', p_key.id,
    'scopes', p_key.scopes, 'ociSyncMethod', s.oci_sync_method)
  from public.sites s
  where s.id = p_key.site_id and p_key.revoked_at is null and s.archived_at is null
$$;

-- authenticate_api_key: which site a key speaks for, by the key's SHA-256. Looking up a hash leaks nothing about the key.
--   Takes    p_scopes: those that would do, the narrowest first. The first one that the key has is
--            noted as used; whether it has any, the caller sees in the answer.
--   Returns  {siteId, publicId, keyId, scopes, ociSyncMethod}, or null.
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
  -- "last used" is for people: once a minute is enough, and a busy key is not one hot row.
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

-- api_key_site: the same by the key's id, for script sessions: a session dies with its key.
--   Callers  service role only.
create function public.api_key_site(p_key_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select private.live_key_site(k) from public.site_api_keys k where k.id = p_key_id
$$;

grant execute on function
  public.list_site_api_keys(text),
  public.create_site_api_key(text, text, text[]),
  public.narrow_site_api_key(text, uuid, text[]),
  public.revoke_site_api_key(text, uuid),
  public.call_event_secret(text, boolean)
to authenticated;
grant execute on function public.authenticate_api_key(text, text[]), public.api_key_site(uuid)
  to opsmantik_app, service_role;
