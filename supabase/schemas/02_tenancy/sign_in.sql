-- account_to_ask: whose password Supabase Auth compares for a sign-in: that of the address, or,
-- where no account has it, another's. Comparing takes most of the time, so an address without an
-- account would be known by a quick answer. The app then sends a random password.
--   Returns  {email, isKnown}; email is null on an installation without accounts.
--   Callers  service role only.
create function public.account_to_ask(p_email text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('email', coalesce(k.email, o.email), 'isKnown', k.email is not null)
  from (values (1)) one
  left join lateral (
    select u.email from auth.users u
    where u.email = lower(p_email) and u.encrypted_password <> '' limit 1) k on true
  left join lateral (
    select u.email from auth.users u
    where u.encrypted_password <> '' order by u.id limit 1) o on true
$$;
grant execute on function public.account_to_ask(text) to opsmantik_app, service_role;
