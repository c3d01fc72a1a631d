-- Lines about people: who joined, who was invited, who may do what.

-- note_member_act: somebody joined, got another role, left or was removed.
create function private.note_member_act() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  v_user uuid := case tg_op when 'DELETE' then old.user_id else new.user_id end;
  v_site uuid := case tg_op when 'DELETE' then old.site_id else new.site_id end;
  v_from text := case when tg_op <> 'INSERT' then old.role::text end;
  v_to text := case
    when tg_op <> 'DELETE' then new.role::text
    when old.user_id = auth.uid() then 'left'
    else 'removed' end;
begin
  if v_from = v_to then
    return null;
  end if;
  if tg_op = 'INSERT' and v_to = 'owner' and private.is_new_site(v_site, new.created_at) then
    return null;
  end if;
  perform private.note_act(v_site, jsonb_build_object(
    'contract', 'member',
    'entityId', v_user,
    'from', v_from,
    'to', v_to,
    'note', private.actor_email(v_user, private.current_moment())));
  return null;
end
$$;
create trigger acts_leave_a_line after insert or update or delete on public.site_members
  for each row execute function private.note_member_act();

-- note_invitation_act: an invitation was sent, sent again, withdrawn, declined or forgotten. An
-- accepted one is told by the line of the member who joined.
create function private.note_invitation_act() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  v_invitation public.site_invitations := case tg_op when 'DELETE' then old else new end;
  v_is_invited boolean := exists (
    select from auth.users u
    where u.id = auth.uid() and u.email_confirmed_at is not null
      and lower(u.email) = v_invitation.email);
begin
  if tg_op = 'DELETE' and v_is_invited and exists (
      select from public.site_members m
      where m.site_id = old.site_id and m.user_id = auth.uid()
        and m.created_at = private.current_moment()) then
    return null;
  end if;
  perform private.note_act(v_invitation.site_id, jsonb_build_object(
    'contract', 'invitation',
    'entityId', v_invitation.id,
    'from', case when tg_op <> 'INSERT' then 'invited' end,
    'to', case
      when tg_op <> 'DELETE' then 'invited'
      when v_is_invited then 'declined'
      when auth.uid() is null then 'expired'
      else 'withdrawn' end,
    'facts', jsonb_build_object('role', v_invitation.role),
    'note', v_invitation.email));
  return null;
end
$$;
create trigger acts_leave_a_line after insert or update or delete on public.site_invitations
  for each row execute function private.note_invitation_act();
