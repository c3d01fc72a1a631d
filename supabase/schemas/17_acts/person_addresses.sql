-- The e-mail address of each account, and since when. The activity log shows an actor by the
-- address of that time: people write their own name, and a new one must not rewrite the past. The
-- address stays when the account is deleted.
create table private.person_addresses (
  user_id uuid not null,
  since timestamptz not null,
  email text not null,
  primary key (user_id, since)
);
alter table private.person_addresses enable row level security;

-- keep_address: notes the address of a new account, and each new address.
create function private.keep_address() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  if new.email is not null then
    insert into private.person_addresses (user_id, since, email)
      values (new.id, private.current_moment(), new.email)
      on conflict (user_id, since) do update set email = excluded.email;
  end if;
  return null;
end
$$;
create trigger addresses_are_kept after insert or update of email on auth.users
  for each row execute function private.keep_address();
insert into private.person_addresses (user_id, since, email)
  select u.id, private.current_moment(), u.email from auth.users u where u.email is not null;

-- actor_email: the address that an account had at a moment; its first one before that.
create function private.actor_email(p_user_id uuid, p_at timestamptz) returns text
language sql stable security definer set search_path = ''
as $$
  select coalesce(
    (select a.email from private.person_addresses a
     where a.user_id = p_user_id and a.since <= p_at order by a.since desc limit 1),
    (select a.email from private.person_addresses a
     where a.user_id = p_user_id order by a.since limit 1))
$$;

-- actor_as_of: an actor as every screen names it: a person by the address of then, a machine by
-- its key's name; null for the system.
create function private.actor_as_of(p_kind text, p_id uuid, p_at timestamptz) returns text
language sql stable security definer set search_path = ''
as $$
  select case p_kind
    when 'user' then private.actor_email(p_id, p_at)
    when 'api_key' then (select k.name from public.site_api_keys k where k.id = p_id) end
$$;
