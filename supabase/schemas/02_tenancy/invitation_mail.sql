-- What the mail of an invitation says. Supabase Auth writes the mail and knows only the account's
-- own data, so the invitation stands there: who invites, to which site, in which role.

-- invitation_words: the newest open invitation of an address, for its mail; null without one.
--   Returns  {by, site, role}. by is the inviter's address: a name could pass for ours. The site's
--            name is an owner's text: no scheme, and no dot that a mail program makes a link of.
create function private.invitation_words(p_email text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'by', coalesce(u.email, ''),
    'site', left(replace(regexp_replace(s.name, '[a-z]+://', '', 'gi'), '.', '.' || chr(8288)), 80),
    'role', i.role)
  from public.site_invitations i
    join public.sites s on s.id = i.site_id
    left join auth.users u on u.id = i.invited_by
  where i.email = p_email and i.expires_at > private.current_moment()
  order by i.created_at desc, i.id desc limit 1
$$;

-- keep_invitation_words: trigger; whatever an account's data says about an invitation is what
-- the database knows. Anybody may sign up with data of their choice, and it would stand in a mail
-- of ours.
create function private.keep_invitation_words() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  new.raw_user_meta_data := nullif(
    (coalesce(new.raw_user_meta_data, '{}') - 'invitation') || jsonb_strip_nulls(
      jsonb_build_object('invitation', private.invitation_words(new.email))),
    case when new.raw_user_meta_data is null then '{}'::jsonb end);
  return new;
end
$$;
create trigger invitations_are_named before insert or update of raw_user_meta_data, email
  on auth.users for each row execute function private.keep_invitation_words();

-- tell_invited: trigger; an invitation that comes, changes or goes does so in the account, too.
-- Where the database's owner may not write accounts, the invitation stands and its mail names
-- nobody.
create function private.tell_invited() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  update auth.users u set raw_user_meta_data = u.raw_user_meta_data
    where u.email = coalesce(new.email, old.email);
  return null;
exception when insufficient_privilege then
  return null;
end
$$;
create trigger invited_people_are_told after insert or update or delete on public.site_invitations
  for each row execute function private.tell_invited();
