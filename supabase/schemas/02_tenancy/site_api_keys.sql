-- API keys: how machines prove which site they speak for. A key has scopes, the least by default:
--   script     the Google Ads Script: verify, export, ack, ack-failed
--   calls      moves of leads, at the contract endpoint
--   sales      sales from elsewhere, and moves of sales at the contract endpoint
--   contracts  every move at the contract endpoint

create table public.site_api_keys (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  name text not null,
  prefix text not null,
  key_hash text not null unique,
  created_by uuid not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  scopes text[] not null,                    -- what it may be used for; a key only ever loses some
  scope_used jsonb not null default '{}',    -- scope -> when it was last used
  constraint key_has_known_scopes check (
    cardinality(scopes) > 0 and scopes <@ '{script,calls,sales,contracts}'),
  constraint key_hash_is_sha_256 check (key_hash ~ '^[0-9a-f]{64}$'),
  constraint key_name_is_plain_text check (private.is_plain_text(name, 60))
);
create index keys_of_a_site on public.site_api_keys (site_id);
alter table public.site_api_keys enable row level security;
create policy owners_see_api_keys on public.site_api_keys for select to authenticated
  using (public.has_site_role(site_id, 'owner'));
grant select (id, name, prefix, scopes, created_at, scope_used, revoked_at)
  on public.site_api_keys to authenticated;

-- key_scopes: all scopes, in their order.
create function private.key_scopes() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['script', 'calls', 'sales', 'contracts'] $$;

-- read_scopes: scopes as asked for, each once and in their order. Refuses none and unknown ones.
create function private.read_scopes(p_scopes text[]) returns text[]
language plpgsql immutable set search_path = ''
as $$
declare
  v_scopes text[] := array(
    select s from unnest(private.key_scopes()) with ordinality k (s, place)
    where s = any (p_scopes) order by place);
begin
  if cardinality(v_scopes) = 0 or not p_scopes <@ v_scopes then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "scopes"}');
  end if;
  return v_scopes;
end
$$;

-- list_site_api_keys: what an owner may know of a key: everything but the key.
--   Callers  owners.
create function public.list_site_api_keys(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
      'id', k.id,
      'name', k.name,
      'prefix', k.prefix,
      'scopes', k.scopes,
      'scopeUsed', k.scope_used,
      'createdAt', k.created_at,
      'revokedAt', k.revoked_at)
      order by k.revoked_at is not null, k.created_at desc, k.id), '[]')
    from public.site_api_keys k where k.site_id = v_site.id);
end
$$;
grant execute on function public.list_site_api_keys(text) to authenticated;

-- create_site_api_key: a new key. Only its SHA-256 is kept: a random key of 192 bits needs no slow
-- hash.
--   Returns  {id, key, prefix}: the one time the key is seen.
--   Refuses  more than 20 live keys of one site; 403 SIGN_IN_AGAIN, as all changes of keys.
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
  perform private.require_fresh_sign_in();
  -- Locked, so that the count below holds until commit.
  perform from public.sites s where s.id = v_site.id for update;
  if (select count(*) from public.site_api_keys k
      where k.site_id = v_site.id and k.revoked_at is null) >= 20 then
    perform private.fail(409, 'TOO_MANY');
  end if;
  insert into public.site_api_keys
      (site_id, name, prefix, key_hash, scopes, created_by, created_at)
    values (v_site.id, p_name, left(v_key, 11), private.sha256_hex(v_key),
      private.read_scopes(p_scopes), auth.uid(), private.current_moment())
    returning id into v_id;
  return jsonb_build_object('id', v_id, 'key', v_key, 'prefix', left(v_key, 11));
end
$$;
grant execute on function public.create_site_api_key(text, text, text[]) to authenticated;

-- revoke_site_api_key: the key stops working at once, and so do script sessions opened with it.
--   Safe     to repeat: the first time stays.
--   Callers  owners.
create function public.revoke_site_api_key(p_public_id text, p_key_id uuid) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  update public.site_api_keys k set revoked_at = coalesce(k.revoked_at, private.current_moment())
    where k.id = p_key_id and k.site_id = v_site.id;
  if not found then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.revoke_site_api_key(text, uuid) to authenticated;

-- narrow_site_api_key: the key keeps these scopes and loses the others at once. Sessions of the
-- Google Ads Script end with `script`.
--   Safe     for two owners at once: the second is compared with what the first left.
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
  perform private.require_fresh_sign_in();
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
grant execute on function public.narrow_site_api_key(text, uuid, text[]) to authenticated;
