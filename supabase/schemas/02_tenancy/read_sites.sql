-- What members see of their sites.

-- site_json: a site as its members see it, with the role of whoever asks.
create function private.site_json(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'siteId', p_site.public_id,
    'name', p_site.name,
    'domains', to_jsonb(p_site.domains),
    'currency', p_site.currency,
    'timezone', p_site.timezone,
    'locale', p_site.locale,
    'ociSyncMethod', p_site.oci_sync_method,
    'consentMode', p_site.consent_mode,
    'respectsPrivacySignal', p_site.respects_privacy_signal,
    'createdAt', p_site.created_at,
    'archivedAt', p_site.archived_at,
    'pause', private.pause_json(p_site),
    'role', (
      select m.role from public.site_members m
      where m.site_id = p_site.id and m.user_id = auth.uid()))
$$;

-- get_site: one site.
--   Callers  viewers.
create function public.get_site(p_public_id text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select private.site_json(private.require_site(p_public_id, 'viewer'))
$$;
grant execute on function public.get_site(text) to authenticated;

-- display_name: the name of a person on screen. People write their own name, so it is cut and
-- cleaned wherever others see it.
create function private.display_name(p_user auth.users) returns text
language sql stable set search_path = ''
as $$
  select left(coalesce(
    nullif(btrim(regexp_replace(
      left(p_user.raw_user_meta_data ->> 'full_name', 200),   -- Auth takes any length
      '[\u0001-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]', '', 'g')), ''),
    split_part(p_user.email, '@', 1)), 80)
$$;

-- list_my_sites: the caller's sites (archived last), open invitations to the caller's confirmed
-- address, and whether the caller may add a site.
--   Callers  signed-in users.
create function public.list_my_sites() returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'sites', coalesce((
      select jsonb_agg(private.site_json(s)
        order by s.archived_at is not null, s.name, s.public_id)
      from public.sites s
      join public.site_members m on m.site_id = s.id and m.user_id = auth.uid()), '[]'),
    'invitations', coalesce((
      select jsonb_agg(jsonb_build_object(
        'id', i.id,
        'siteName', s.name,
        'role', i.role,
        'expiresAt', i.expires_at,
        'invitedBy', private.actor_email(i.invited_by, i.created_at))
        order by i.created_at)
      from public.site_invitations i
      join public.sites s on s.id = i.site_id and s.archived_at is null
      join auth.users u on u.id = auth.uid()
        and u.email_confirmed_at is not null and lower(u.email) = i.email
      where i.expires_at > private.current_moment()), '[]'),
    'mayCreate', private.may_create_site())
$$;
grant execute on function public.list_my_sites() to authenticated;
