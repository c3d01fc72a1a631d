-- Invitations. Changes take the hash and the key of the request, both optional, as changes of the
-- team do (site_members.sql).

create table public.site_invitations (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  email text not null,
  role public.site_role not null,
  invited_by uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint email_is_an_address check (
    email = lower(email)
    and char_length(email) <= 254
    and email ~ '^[^\s@<>"]+@[a-z0-9.-]+\.[a-z0-9-]{2,63}$'),
  constraint one_open_invitation_per_address unique (site_id, email)
);
create index invitations_of_an_address on public.site_invitations (email);
create index invitations_by_expiry on public.site_invitations (expires_at);
alter table public.site_invitations enable row level security;
create policy owners_see_invitations on public.site_invitations for select to authenticated
  using (public.has_site_role(site_id, 'owner'));
grant select (id, email, role, created_at, expires_at) on public.site_invitations to authenticated;

-- invite_effect: opens or renews an invitation.
--   Takes    p_args {site, email, role}
create function private.invite_effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site_id uuid := (p_args ->> 'site')::uuid;
  v_email text := lower(btrim(p_args ->> 'email'));
  v_id uuid;
begin
  -- Locked, so that the count below holds until commit.
  perform from public.sites s where s.id = v_site_id for update;
  if exists (
      select from public.site_members m join auth.users u on u.id = m.user_id
      where m.site_id = v_site_id and lower(u.email) = v_email) then
    perform private.fail(409, 'ALREADY_MEMBER');
  end if;
  if (select count(*) from public.site_members m where m.site_id = v_site_id)
      + (select count(*) from public.site_invitations i
          where i.site_id = v_site_id and i.email <> v_email) >= 200 then
    perform private.fail(409, 'TOO_MANY');
  end if;
  insert into public.site_invitations (site_id, email, role, invited_by, created_at, expires_at)
    values (v_site_id, v_email, (p_args ->> 'role')::public.site_role, auth.uid(),
      v_now, v_now + interval '14 days')
    on conflict (site_id, email) do update
      set role = excluded.role,
          invited_by = excluded.invited_by,
          created_at = excluded.created_at,
          expires_at = excluded.expires_at
    returning id into v_id;
  return jsonb_build_object('invitationId', v_id, 'email', v_email);
end
$$;

-- invite_site_member: an open invitation for an address, valid 14 days. Inviting again renews it
-- with the new role.
--   Refuses  an address that is a member already; more than 200 members and invitations together;
--            403 SIGN_IN_AGAIN.
--   Callers  owners.
create function public.invite_site_member(
  p_public_id text, p_email text, p_role public.site_role,
  p_request_hash text default null, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  return private.answer_plainly(
    v_site.id, 'member.invite', p_key, p_request_hash, 'private.invite_effect',
    jsonb_build_object('site', v_site.id, 'email', p_email, 'role', p_role));
end
$$;
grant execute on function public.invite_site_member(text, text, public.site_role, text, text)
  to authenticated;

-- invitation_mail_effect: the answer that is kept about a mail.
create function private.invitation_mail_effect(p_args jsonb) returns jsonb
language sql immutable set search_path = ''
as $$
  select jsonb_build_object(
    'invitationId', p_args -> 'invitationId', 'mailed', p_args -> 'mailed')
$$;

-- record_invitation_mail: stores whether the mail of an invitation that was made with a key went
-- out. The mail is sent before this, outside any transaction. The first result stays: a repeated
-- request sends no mail and gets that result.
--   Returns  {status, replayed, body}: the body is {invitationId, mailed}.
--   Callers  owners.
create function public.record_invitation_mail(
  p_public_id text, p_invitation_id uuid, p_mailed boolean, p_request_hash text, p_key text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  return private.answer_once(
    v_site.id, 'member.invite.mail', p_key, p_request_hash, 'private.invitation_mail_effect',
    jsonb_build_object('invitationId', p_invitation_id, 'mailed', p_mailed));
end
$$;
grant execute on function public.record_invitation_mail(text, uuid, boolean, text, text)
  to authenticated;

-- withdraw_effect: deletes an open invitation.
--   Takes    p_args {site, invitation}
create function private.withdraw_effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  delete from public.site_invitations i
    where i.id = (p_args ->> 'invitation')::uuid and i.site_id = (p_args ->> 'site')::uuid;
  if not found then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return jsonb_build_object('ok', true);
end
$$;

-- withdraw_invitation: an owner takes an open invitation back.
--   Callers  owners.
create function public.withdraw_invitation(
  p_public_id text, p_invitation_id uuid, p_request_hash text default null, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  return private.answer_plainly(
    v_site.id, 'member.withdraw', p_key, p_request_hash, 'private.withdraw_effect',
    jsonb_build_object('site', v_site.id, 'invitation', p_invitation_id));
end
$$;
grant execute on function public.withdraw_invitation(text, uuid, text, text) to authenticated;
