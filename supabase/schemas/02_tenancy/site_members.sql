-- Members: who works on a site, and how they come and go.

-- In rising order, so that role >= 'operator' works.
create type public.site_role as enum ('viewer', 'operator', 'owner');

create table public.site_members (
  site_id uuid not null references public.sites (id),
  user_id uuid not null references auth.users (id) on delete cascade,
  role public.site_role not null,
  created_at timestamptz not null,
  primary key (site_id, user_id)
);
create index memberships_of_a_user on public.site_members (user_id);
alter table public.site_members enable row level security;
create policy owners_see_their_team on public.site_members for select to authenticated
  using (user_id = (select auth.uid()) or public.has_site_role(site_id, 'owner'));
grant select (user_id, role, created_at) on public.site_members to authenticated;

-- keep_an_owner: an open site always has an owner; an archived one may lose its last. The site's
-- row is locked first, so that two owners who remove each other at the same moment are decided one
-- after the other.
create function private.keep_an_owner() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites;
begin
  select s.* into v_site from public.sites s where s.id = old.site_id for update;
  if v_site.archived_at is null and not exists (
      select from public.site_members m where m.site_id = old.site_id and m.role = 'owner') then
    perform private.fail(409, 'LAST_OWNER');
  end if;
  -- A former owner must not come back through an invitation they left open.
  delete from public.site_invitations i
    where i.site_id = old.site_id and i.invited_by = old.user_id
      and not exists (
        select from public.site_members m
        where m.site_id = old.site_id and m.user_id = old.user_id and m.role = 'owner');
  return null;
end
$$;
create trigger a_site_keeps_an_owner after delete or update of role on public.site_members
  for each row when (old.role = 'owner') execute function private.keep_an_owner();

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
      select coalesce(jsonb_agg(jsonb_build_object(
        'userId', u.id,
        'name', private.display_name(u),
        'email', u.email,
        'role', m.role,
        'joinedAt', m.created_at,
        'isYou', u.id = auth.uid())
        order by m.role desc, m.created_at, u.id), '[]')
      from public.site_members m join auth.users u on u.id = m.user_id
      where m.site_id = v_site.id),
    'invitations', (
      select coalesce(jsonb_agg(jsonb_build_object(
        'id', i.id,
        'email', i.email,
        'role', i.role,
        'invitedAt', i.created_at,
        'expiresAt', i.expires_at)
        order by i.created_at), '[]')
      from public.site_invitations i
      where i.site_id = v_site.id));
end
$$;
grant execute on function public.list_site_members(text) to authenticated;

-- Changes of the team take the hash and the key of the request, both optional. With a key they
-- answer {status, replayed, body}, once; without one, the body itself. The caller's role is checked
-- first, so nobody gets an answer again who has lost the right to ask.

-- member_role_effect: gives a member another role.
--   Takes    p_args {site, user, role}
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

-- change_member_role: gives a member another role. The trigger a_site_keeps_an_owner refuses to
-- demote the last owner.
--   Refuses  403 SIGN_IN_AGAIN.
--   Callers  owners.
create function public.change_member_role(
  p_public_id text, p_user_id uuid, p_role public.site_role,
  p_request_hash text default null, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  return private.answer_plainly(
    v_site.id, 'member.role', p_key, p_request_hash, 'private.member_role_effect',
    jsonb_build_object('site', v_site.id, 'user', p_user_id, 'role', p_role));
end
$$;
grant execute on function public.change_member_role(text, uuid, public.site_role, text, text)
  to authenticated;

-- remove_member_effect: takes a member off the team.
--   Takes    p_args {site, user}
create function private.remove_member_effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  delete from public.site_members m
    where m.site_id = (p_args ->> 'site')::uuid and m.user_id = (p_args ->> 'user')::uuid;
  if not found then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return jsonb_build_object('ok', true);
end
$$;

-- remove_member: takes a member off the team. The trigger a_site_keeps_an_owner refuses to remove
-- the last owner.
--   Refuses  403 SIGN_IN_AGAIN, but not to somebody who leaves.
--   Callers  owners; anyone for themselves.
create function public.remove_member(
  p_public_id text, p_user_id uuid, p_request_hash text default null, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_role public.site_role := case when p_user_id = auth.uid() then 'viewer' else 'owner' end;
  v_site public.sites := private.require_site(p_public_id, v_role);
begin
  if v_role = 'owner' then
    perform private.require_fresh_sign_in();
  end if;
  return private.answer_plainly(
    v_site.id, 'member.remove', p_key, p_request_hash, 'private.remove_member_effect',
    jsonb_build_object('site', v_site.id, 'user', p_user_id));
end
$$;
grant execute on function public.remove_member(text, uuid, text, text) to authenticated;
