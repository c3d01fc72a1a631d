-- How a connection is blocked and released.

-- block_connection: stops delivery for a (site, provider) until somebody fixes the cause. A block
-- that stands keeps its first cause.
create function private.block_connection(
  p_site_id uuid, p_provider_key text, p_code text, p_message text
) returns void
language sql security definer set search_path = ''
as $$
  update public.provider_health_state h
    set blocked_at = private.current_moment(), blocked_code = left(coalesce(p_code, 'AUTH'), 64),
        blocked_message = left(p_message, 1024), updated_at = private.current_moment()
    where h.site_id = p_site_id and h.provider_key = p_provider_key and h.blocked_at is null
$$;

-- block_provider: block_connection for a worker whose credentials were refused.
--   Takes    p_credentials_version of the refused credentials; outdated ones block nothing.
--   Returns  {blocked}: whether it is blocked now.
--   Callers  service role only.
create function public.block_provider(
  p_site_id uuid, p_provider_key text, p_code text, p_message text, p_credentials_version int
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  if private.hold_provider(p_site_id, p_provider_key) = p_credentials_version then
    perform private.block_connection(p_site_id, p_provider_key, p_code, p_message);
  end if;
  return jsonb_build_object('blocked', exists (select from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key
      and h.blocked_at is not null));
end
$$;
grant execute on function public.block_provider(uuid, text, text, text, int)
  to opsmantik_app, service_role;

-- release_connection: ends the block of a (site, provider). The caller has called hold_provider and
-- locked no sale yet.
--   Takes    p_passed: names whose actions passed a test; their blocks end as well. Null: all.
--   Moves    as requeue_refused.
--   Returns  how many queue rows were requeued.
create function private.release_connection(
  p_site_id uuid, p_provider_key text, p_actor private.actor, p_passed text[] default null
) returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  update public.provider_health_state h
    set blocked_at = null, blocked_code = null, blocked_message = null, quota_until = null,
        updated_at = v_now
    where h.site_id = p_site_id and h.provider_key = p_provider_key
      and (h.blocked_at is not null or h.quota_until is not null);
  update public.provider_conversion_actions a
    set blocked_at = null, blocked_code = null, blocked_message = null, updated_at = v_now
    where a.site_id = p_site_id and a.provider_key = p_provider_key and a.blocked_at is not null
      and (p_passed is null or a.conversion_name = any (p_passed));
  return private.requeue_refused(p_site_id, p_provider_key, p_actor);
end
$$;

-- release_provider: for the runbook. Ends the blocks of the connection and of its actions, and
-- queues the rows that they left FAILED with all attempts again.
--   Safe     to repeat.
--   Returns  {released}: how many rows.
--   Refuses  409 NOT_CONNECTED.
--   Callers  service role only.
create function public.release_provider(p_site_id uuid, p_provider_key text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_actor private.actor := ('system', null)::private.actor;
  v_stopped uuid[];
begin
  perform private.require_connected(p_site_id, p_provider_key);
  perform private.new_version(p_site_id, p_provider_key);
  v_stopped := private.stopped_rows(p_site_id, p_provider_key);
  return jsonb_build_object('released',
    private.release_connection(p_site_id, p_provider_key, v_actor)
    + private.requeue_stopped(p_site_id, p_provider_key, v_actor, v_stopped));
end
$$;
grant execute on function public.release_provider(uuid, text) to opsmantik_app, service_role;
