-- What a stolen session must not be enough for: keys, roles, secrets and credentials ask for a
-- recent sign-in.

-- sign_in_life: how long a sign-in counts as recent.
create function private.sign_in_life() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '15 minutes' $$;

-- signed_in_at: when the caller proved who they are. A session begins with a sign-in and keeps its
-- beginning when its token is refreshed; a session that was signed out has none. A token without a
-- session is judged by its amr claim, which says when and how it was authenticated.
create function private.signed_in_at() returns timestamptz
language sql stable security definer set search_path = ''
as $$
  select case
    when j.claims ? 'session_id' then (
      select s.created_at from auth.sessions s
      where s.id = (j.claims ->> 'session_id')::uuid and s.user_id = auth.uid())
    else (
      select to_timestamp(max((a.value ->> 'timestamp')::numeric))
      from jsonb_array_elements(j.claims -> 'amr') a
      where a.value ->> 'method' <> 'token_refresh') end
  from (select coalesce(auth.jwt(), '{}') as claims) j
$$;

-- require_fresh_sign_in: asks for a sign-in of the last 15 minutes. Called after the check of the
-- role, so that it tells a stranger nothing.
--   Refuses  403 SIGN_IN_AGAIN. The screen asks for the password and sends the request again.
create function private.require_fresh_sign_in() returns void
language plpgsql stable security definer set search_path = ''
as $$
begin
  if coalesce(private.signed_in_at() < private.current_moment() - private.sign_in_life(), true) then
    perform private.fail(403, 'SIGN_IN_AGAIN');
  end if;
end
$$;
