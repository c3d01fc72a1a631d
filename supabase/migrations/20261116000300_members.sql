-- Members: who works on a site, and how they come and go.

-- list_site_members: the team and the open invitations.
--   Callers  owners.
create function public.list_site_members(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  return jsonb_build_object(
    'members', (
      select coalesce(jsonb_agg(jsonb_build_object('userId', u.id, 'name', private.display_name(u), 'email', u.email, 'role', m.role,
               'joinedAt', m.created_at, 'isYou', u.id = auth.uid()) order by m.role desc, m.created_at, u.id), '[]')
      from public.site_members m join auth.users u on u.id = m.user_id
      where m.site_id = v_site.id),
    'invitations', (
      select coalesce(jsonb_agg(jsonb_build_object('id', i.id, 'email', i.email, 'role', i.role, 'invitedAt', i.created_at,
               'expiresAt', i.expires_at) order by i.created_at), '[]')
      from public.site_invitations i
      where i.site_id = v_site.id));
end
$$;

-- Changes of the team take the hash and the key of the request, both optional. With a key they answer {status, replayed, body}, once;
-- without one, the body itself. Whether the caller may is asked first: an answer is never given again to somebody who may not any more.

-- invite_effect: p_args {site, email, role}
create function private.invite_effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site_id uuid := (p_args ->> 'site')::uuid;
  v_email text := lower(btrim(p_args ->> 'email'));
  v_id uuid;
begin
  perform from public.sites s where s.id = v_site_id for update;   -- the count below holds until commit
  if exists (select from public.site_members m join auth.users u on u.id = m.user_id
             where m.site_id = v_site_id and lower(u.email) = v_email) then
    perform private.fail(409, 'ALREADY_MEMBER');
  end if;
  if (select count(*) from public.site_members m where m.site_id = v_site_id)
     + (select count(*) from public.site_invitations i where i.site_id = v_site_id and i.email <> v_email) >= 200 then
    perform private.fail(409, 'TOO_MANY');
  end if;
  insert into public.site_invitations (site_id, email, role, invited_by, created_at, expires_at)
    values (v_site_id, v_email, (p_args ->> 'role')::public.site_role, auth.uid(), v_now, v_now + interval '14 days')
    on conflict (site_id, email) do update
      set role = excluded.role, invited_by = excluded.invited_by, created_at = excluded.created_at, expires_at = excluded.expires_at
    returning id into v_id;
  return jsonb_build_object('invitationId', v_id, 'email', v_email);
end
$$;

-- invite_site_member: an open invitation for an address, valid 14 days. Inviting again renews it with the new role.
--   Refuses  an address that is a member already; more than 200 members and invitations together.
--   Callers  owners.
create function public.invite_site_member(
  p_public_id text, p_email text, p_role public.site_role, p_request_hash text default null, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  return private.answer_plainly(v_site.id, 'member.invite', p_key, p_request_hash, 'private.invite_effect',
    jsonb_build_object('site', v_site.id, 'email', p_email, 'role', p_role));
end
$$;

create function private.invitation_mail_effect(p_args jsonb) returns jsonb
language sql immutable set search_path = ''
as $$ select jsonb_build_object('invitationId', p_args -> 'invitationId', 'mailed', p_args -> 'mailed') $$;

-- record_invitation_mail: the last word on an invitation that was made with a key: whether its mail went out. The mail is sent between the
-- two, outside any transaction; the first word that arrives stays, and a repeated request, which sends no mail, gets it.
--   Returns  {status, replayed, body}: the body is {invitationId, mailed}.
--   Callers  owners.
create function public.record_invitation_mail(p_public_id text, p_invitation_id uuid, p_mailed boolean, p_request_hash text, p_key text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  return private.answer_once(v_site.id, 'member.invite.mail', p_key, p_request_hash, 'private.invitation_mail_effect',
    jsonb_build_object('invitationId', p_invitation_id, 'mailed', p_mailed));
end
$$;

create function private.withdraw_effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  delete from public.site_invitations i where i.id = (p_args ->> 'invitation')::uuid and i.site_id = (p_args ->> 'site')::uuid;
  if not found then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return jsonb_build_object('ok', true);
end
$$;

-- withdraw_invitation: an owner takes an open invitation back.
--   Callers  owners.
create function public.withdraw_invitation(p_public_id text, p_invitation_id uuid, p_request_hash text default null, p_key text default null) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  return private.answer_plainly(v_site.id, 'member.withdraw', p_key, p_request_hash, 'private.withdraw_effect',
    jsonb_build_object('site', v_site.id, 'invitation', p_invitation_id));
end
$$;

-- take_my_invitation: lock and remove the caller's invitation. Only the owner of the confirmed address has it.
create function private.take_my_invitation(p_invitation_id uuid) returns public.site_invitations
language plpgsql security definer set search_path = ''
as $$
declare
  v_invitation public.site_invitations;
begin
  delete from public.site_invitations i
    using auth.users u
    where i.id = p_invitation_id and u.id = auth.uid() and u.email_confirmed_at is not null and lower(u.email) = i.email
    returning i.* into v_invitation;
  if v_invitation.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return v_invitation;
end
$$;

-- accept_invitation: the invited person joins the site in the invited role.
--   Safe     a double tap: the second finds no invitation and answers 404.
--   Returns  {publicId}.
--   Callers  the signed-in owner of the invited address.
create function public.accept_invitation(p_invitation_id uuid) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_invitation public.site_invitations := private.take_my_invitation(p_invitation_id);
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
  return jsonb_build_object('publicId', v_site.public_id);
end
$$;

-- decline_invitation: the invited person says no; the invitation is gone.
--   Callers  the signed-in owner of the invited address.
create function public.decline_invitation(p_invitation_id uuid) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  perform private.take_my_invitation(p_invitation_id);
  return jsonb_build_object('ok', true);
end
$$;

create function private.member_role_effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  update public.site_members m set role = (p_args ->> 'role')::public.site_role
    where m.site_id = (p_args ->> 'site')::uuid and m.user_id = (p_args ->> 'user')::uuid;
  if not found then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return jsonb_build_object('ok', true);
end
$$;

-- change_member_role: the trigger a_site_keeps_an_owner refuses to demote the last owner.
--   Callers  owners.
create function public.change_member_role(
  p_public_id text, p_user_id uuid, p_role public.site_role, p_request_hash text default null, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  return private.answer_plainly(v_site.id, 'member.role', p_key, p_request_hash, 'private.member_role_effect',
    jsonb_build_object('site', v_site.id, 'user', p_user_id, 'role', p_role));
end
$$;

create function private.remove_member_effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  delete from public.site_members m where m.site_id = (p_args ->> 'site')::uuid and m.user_id = (p_args ->> 'user')::uuid;
  if not found then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return jsonb_build_object('ok', true);
end
$$;

-- remove_member: the trigger a_site_keeps_an_owner refuses to remove the last owner.
--   Callers  owners; anyone for themselves.
create function public.remove_member(p_public_id text, p_user_id uuid, p_request_hash text default null, p_key text default null) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, case when p_user_id = auth.uid() then 'viewer' else 'owner' end::public.site_role);
begin
  return private.answer_plainly(v_site.id, 'member.remove', p_key, p_request_hash, 'private.remove_member_effect',
    jsonb_build_object('site', v_site.id, 'user', p_user_id));
end
$$;

-- purge_expired_invitations: forget addresses that never answered, 30 days after their invitation ran out.
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

grant execute on function
  public.list_site_members(text),
  public.invite_site_member(text, text, public.site_role, text, text),
  public.record_invitation_mail(text, uuid, boolean, text, text),
  public.withdraw_invitation(text, uuid, text, text),
  public.accept_invitation(uuid),
  public.decline_invitation(uuid),
  public.change_member_role(text, uuid, public.site_role, text, text),
  public.remove_member(text, uuid, text, text)
to authenticated;
grant execute on function public.purge_expired_invitations() to opsmantik_app, service_role;
