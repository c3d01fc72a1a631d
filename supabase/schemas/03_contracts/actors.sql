-- Who makes a move, and how screens name them.

-- Who acts: a member by id, a machine by its key's id, or the system.
create type private.actor as (kind text, id uuid);

-- user_actor: the signed-in user.
create function private.user_actor() returns private.actor
language sql stable set search_path = ''
as $$ select ('user', auth.uid())::private.actor $$;

-- actor_json: who did something at a moment, as screens show it. A person by the address of then:
-- a new display name must not rewrite what is recorded.
create function private.actor_json(p_kind text, p_id uuid, p_at timestamptz) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('kind', p_kind, 'name', private.actor_as_of(p_kind, p_id, p_at))
$$;
