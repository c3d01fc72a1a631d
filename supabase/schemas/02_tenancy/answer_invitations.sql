-- What becomes of an invitation: accepted, declined or forgotten.

-- hold_my_invitation: locks the caller's invitation. It belongs to whoever has confirmed the
-- address.
create function private.hold_my_invitation(p_invitation_id uuid) returns public.site_invitations
language plpgsql security definer set search_path = ''
as $$
declare
  v_invitation public.site_invitations;
begin
  select i.* into v_invitation
    from public.site_invitations i
    join auth.users u on u.id = auth.uid()
      and u.email_confirmed_at is not null and lower(u.email) = i.email
    where i.id = p_invitation_id for update of i;
  if v_invitation.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return v_invitation;
end
$$;

-- accept_invitation: the invited person joins the site in the invited role.
--   Safe     a double tap: the second finds no invitation and answers 404.
--   Returns  {siteId}.
--   Callers  the signed-in owner of the invited address.
create function public.accept_invitation(p_invitation_id uuid) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_invitation public.site_invitations := private.hold_my_invitation(p_invitation_id);
  v_site public.sites;
begin
  if v_invitation.expires_at <= private.current_moment() then
    perform private.fail(409, 'INVITATION_EXPIRED');
  end if;
  select s.* into v_site from public.sites s where s.id = v_invitation.site_id;
  if v_site.archived_at is not null then
    perform private.fail(409, 'SITE_ARCHIVED');
  end if;
  insert into public.site_members (site_id, user_id, role, created_at)
    values (v_site.id, auth.uid(), v_invitation.role, private.current_moment())
    on conflict (site_id, user_id) do nothing;
  delete from public.site_invitations i where i.id = v_invitation.id;
  return jsonb_build_object('siteId', v_site.public_id);
end
$$;
grant execute on function public.accept_invitation(uuid) to authenticated;

-- decline_invitation: the invited person says no; the invitation is gone.
--   Callers  the signed-in owner of the invited address.
create function public.decline_invitation(p_invitation_id uuid) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_invitation public.site_invitations := private.hold_my_invitation(p_invitation_id);
begin
  delete from public.site_invitations i where i.id = v_invitation.id;
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.decline_invitation(uuid) to authenticated;

-- purge_expired_invitations: forget addresses that never answered, 30 days after their invitation
-- ran out.
--   Returns  {purged}; at most 1,000 a call.
--   Callers  service role only (daily cron).
create function public.purge_expired_invitations() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  delete from public.site_invitations i where i.id in (
    select e.id from public.site_invitations e
    where e.expires_at < private.current_moment() - interval '30 days'
    order by e.expires_at limit 1000 for update skip locked);
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;
grant execute on function public.purge_expired_invitations() to opsmantik_app, service_role;
