-- The secret that signs server-to-server call events. lib/vault encrypts it before it gets here and
-- the app checks signatures, so a copy of the database signs nothing. A replaced secret works for
-- seven more days, so that a telephone system can be changed without losing calls.
create table private.site_secrets (
  site_id uuid primary key references public.sites (id),
  rotated_at timestamptz not null,
  key_id text,                    -- which vault key sealed it
  sealed text,                    -- base64; null until the first secret is made
  previous_key_id text,
  previous_sealed text,
  previous_until timestamptz,     -- when the replaced secret stops working
  constraint sealed_secret_has_its_key check ((sealed is null) = (key_id is null)),
  constraint previous_secret_has_key_and_end check (
    (previous_sealed is null) = (previous_key_id is null)
    and (previous_sealed is null) = (previous_until is null)),
  constraint secrets_are_base64 check (
    concat(sealed, previous_sealed) ~ '^[A-Za-z0-9+/=]*$'
    and greatest(char_length(sealed), char_length(previous_sealed)) <= 1024),
  constraint secret_key_ids_are_bounded check (
    greatest(char_length(key_id), char_length(previous_key_id)) <= 64)
);
alter table private.site_secrets enable row level security;

-- replaced_secret_life: how long a replaced call-event secret keeps working.
create function private.replaced_secret_life() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '7 days' $$;

-- call_event_secret: whether a site has a call-event secret, and since when. The secret itself is
-- shown once, by the app that made it.
--   Returns  {madeAt, previousUntil}; madeAt is null without a secret, previousUntil unless a
--            replaced one still works.
--   Callers  owners.
create function public.call_event_secret(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
  v_secret private.site_secrets;
begin
  select x.* into v_secret from private.site_secrets x
    where x.site_id = v_site.id and x.sealed is not null;
  return jsonb_build_object(
    'madeAt', v_secret.rotated_at,
    'previousUntil', case when v_secret.previous_until > private.current_moment()
      then v_secret.previous_until end);
end
$$;
grant execute on function public.call_event_secret(text) to authenticated;

-- replace_call_event_secret: stores a new call-event secret that the app made and sealed. The one
-- it replaces works for seven more days; any older one stops now.
--   Safe     from two owners at once: the second replaces the first one's secret.
--   Returns  {madeAt, previousUntil} as call_event_secret.
--   Callers  owners.
create function public.replace_call_event_secret(p_public_id text, p_key_id text, p_sealed text)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
  v_now timestamptz := private.current_moment();
begin
  perform private.require_fresh_sign_in();
  if p_sealed is null or p_key_id is null then
    perform private.refuse_setting('sealed');
  end if;
  insert into private.site_secrets as x (site_id, rotated_at, key_id, sealed)
    values (v_site.id, v_now, p_key_id, p_sealed)
    on conflict (site_id) do update
      set rotated_at = excluded.rotated_at,
          key_id = excluded.key_id,
          sealed = excluded.sealed,
          previous_key_id = x.key_id,
          previous_sealed = x.sealed,
          previous_until = case when x.sealed is not null
            then v_now + private.replaced_secret_life() end;
  return public.call_event_secret(p_public_id);
end
$$;
grant execute on function public.replace_call_event_secret(text, text, text) to authenticated;

-- call_event_secrets: the sealed secrets that may sign a call event of a site now, newest first.
--   Returns  {siteUuid, siteId, consentMode, secrets: [{keyId, sealed}]}, or null for a site that
--            is unknown or archived.
--   Callers  service role only.
create function public.call_event_secrets(p_public_id text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'siteUuid', s.id,
    'siteId', s.public_id,
    'consentMode', s.consent_mode,
    'secrets', (
      select coalesce(jsonb_agg(jsonb_build_object('keyId', t.key_id, 'sealed', t.sealed)
        order by t.place), '[]')
      from (values
        (1, x.key_id, x.sealed),
        (2, case when x.previous_until > private.current_moment() then x.previous_key_id end,
          x.previous_sealed)) t (place, key_id, sealed)
      where t.key_id is not null))
  from public.sites s left join private.site_secrets x on x.site_id = s.id
  where s.public_id = p_public_id and s.archived_at is null
$$;
grant execute on function public.call_event_secrets(text) to opsmantik_app, service_role;

-- purge_replaced_secrets: deletes replaced secrets that no longer work.
--   Returns  {purged}; at most 1,000 a call.
--   Callers  service role only (cron).
create function public.purge_replaced_secrets() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  update private.site_secrets x
    set previous_key_id = null, previous_sealed = null, previous_until = null
    where x.site_id in (
      select y.site_id from private.site_secrets y
      where y.previous_until <= private.current_moment() limit 1000 for update skip locked);
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;
grant execute on function public.purge_replaced_secrets() to opsmantik_app, service_role;

-- list_sealed_call_secrets: call-event secrets that one vault key sealed, for the rotation to
-- another.
--   Returns  [{siteUuid, keyId, sealed}], at most p_limit (1,000).
--   Callers  service role only.
create function public.list_sealed_call_secrets(p_key_id text, p_limit int default 100)
returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'siteUuid', t.site_id,
      'keyId', p_key_id,
      'sealed', t.sealed)
    order by t.site_id), '[]')
  from (
    select x.site_id, x.sealed from private.site_secrets x where x.key_id = p_key_id
    union all
    select x.site_id, x.previous_sealed from private.site_secrets x
    where x.previous_key_id = p_key_id
    order by 1
    limit least(greatest(p_limit, 1), 1000)) t
$$;
grant execute on function public.list_sealed_call_secrets(text, int)
  to opsmantik_app, service_role;

-- reseal_call_secret: stores the same secret, sealed with another vault key.
--   Safe     against an owner who replaces it meanwhile: the ciphertext that was opened is
--            replaced wherever it is by then. Safe to repeat.
--   Returns  {resealed}.
--   Callers  service role only.
create function public.reseal_call_secret(
  p_site_id uuid, p_from text, p_key_id text, p_sealed text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  update private.site_secrets x
    set key_id = case when x.sealed = p_from then p_key_id else x.key_id end,
        sealed = case when x.sealed = p_from then p_sealed else x.sealed end,
        previous_key_id = case
          when x.previous_sealed = p_from then p_key_id else x.previous_key_id end,
        previous_sealed = case
          when x.previous_sealed = p_from then p_sealed else x.previous_sealed end
    where x.site_id = p_site_id and p_from in (x.sealed, x.previous_sealed);
  return jsonb_build_object('resealed', found);
end
$$;
grant execute on function public.reseal_call_secret(uuid, text, text, text)
  to opsmantik_app, service_role;
