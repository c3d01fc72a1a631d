-- The secret that signs server-to-server call events. An HMAC needs it in clear, so it sits where
-- no role can read it. After a rotation the previous one stays valid until the next rotation, so
-- that a telephone system can be changed without losing calls.
create table private.site_secrets (
  site_id uuid primary key references public.sites (id),
  call_event_secret text not null,
  previous_call_event_secret text,
  rotated_at timestamptz not null
);
alter table private.site_secrets enable row level security;

-- call_event_secret: show the secret that signs call events, or replace it first. The replaced one
-- stays valid until the next rotation.
--   Returns  {secret, rotatedAt}.
--   Refuses  403 SIGN_IN_AGAIN.
--   Callers  owners.
create function public.call_event_secret(p_public_id text, p_rotate boolean default false)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  if p_rotate then
    update private.site_secrets x
      set previous_call_event_secret = x.call_event_secret,
          call_event_secret = encode(extensions.gen_random_bytes(32), 'hex'),
          rotated_at = private.current_moment()
      where x.site_id = v_site.id;
  end if;
  return (
    select jsonb_build_object('secret', x.call_event_secret, 'rotatedAt', x.rotated_at)
    from private.site_secrets x where x.site_id = v_site.id);
end
$$;
grant execute on function public.call_event_secret(text, boolean) to authenticated;

-- verify_call_event_signature: which site signed `ts.body`, with its present secret or the one
-- before. The secret never leaves the database. Hashes of both signatures are compared, so that the
-- time taken tells nothing about them.
--   Returns  {siteUuid, siteId, consentMode}, or null: an unknown site and a wrong signature look
--            the same.
--   Callers  service role only.
create function public.verify_call_event_signature(
  p_public_id text, p_ts text, p_body text, p_signature text
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('siteUuid', s.id, 'siteId', s.public_id, 'consentMode', s.consent_mode)
  from public.sites s
  join private.site_secrets x on x.site_id = s.id
  where s.public_id = p_public_id and s.archived_at is null
    and exists (
      select from unnest(array[x.call_event_secret, x.previous_call_event_secret]) secret
      where secret is not null
        and sha256(extensions.hmac(
            convert_to(p_ts || '.' || p_body, 'UTF8'), convert_to(secret, 'UTF8'), 'sha256'))
          = sha256(decode(p_signature, 'hex')))
$$;
grant execute on function public.verify_call_event_signature(text, text, text, text)
  to opsmantik_app, service_role;
