-- A session alone must not be enough to change its password: whoever copied it would keep the
-- account. The gateways differ in what they ask for (docs/accounts.md), so the database asks too.

-- guard_password: refuses a new password for an account that nobody signed in to in the last 15
-- minutes. A link from an e-mail is a sign-in.
--   Refuses  403 SIGN_IN_AGAIN; Supabase Auth answers 500.
create function private.guard_password() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  if not exists (
      select from auth.sessions s
      where s.user_id = new.id
        and s.created_at > private.current_moment() - private.sign_in_life()) then
    perform private.fail(403, 'SIGN_IN_AGAIN');
  end if;
  return new;
end
$$;
create trigger passwords_need_a_recent_sign_in before update of encrypted_password on auth.users
  for each row
  when (coalesce(old.encrypted_password, '') <> ''
    and new.encrypted_password is distinct from old.encrypted_password)
  execute function private.guard_password();
