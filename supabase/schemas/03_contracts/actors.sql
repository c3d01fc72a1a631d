-- Who makes a move, and the name people know them by.

-- Who acts: a member by id, a machine by its key's id, or the system.
create type private.actor as (kind text, id uuid);

-- user_actor: the signed-in user.
create function private.user_actor() returns private.actor
language sql stable set search_path = ''
as $$ select ('user', auth.uid())::private.actor $$;

-- actor_name: the name of an actor on screen; null for the system.
create function private.actor_name(p_kind text, p_id uuid) returns text
language sql stable security definer set search_path = ''
as $$
  select case p_kind
    when 'user' then (select private.display_name(u) from auth.users u where u.id = p_id)
    when 'api_key' then (select k.name from public.site_api_keys k where k.id = p_id) end
$$;

-- actor_json: an actor as screens show it.
create function private.actor_json(p_kind text, p_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('kind', p_kind, 'name', private.actor_name(p_kind, p_id))
$$;
