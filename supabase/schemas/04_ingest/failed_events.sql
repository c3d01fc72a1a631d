-- What people see of ingest: whether events arrive, and which could not be stored.

-- ingest_status: when the last event of a site arrived, and how many could not be stored.
--   Returns  {lastEventAt, failed}.
--   Callers  members.
create function public.ingest_status(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
begin
  return jsonb_build_object(
    'lastEventAt', (
      select s.last_seen_at from public.sessions s
      where s.site_id = v_site.id order by s.started_at desc limit 1),
    'failed', (
      select count(*) from public.ingest_fallback_buffer b
      where b.site_id = v_site.id and b.status = 'FAILED'));
end
$$;
grant execute on function public.ingest_status(text) to authenticated;

-- list_failed_events: the newest 200 events that could not be stored, with the reason. The payload
-- stays until an operator replays them.
--   Callers  operators.
create function public.list_failed_events(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'operator');
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
      'id', t.id,
      'receivedAt', t.created_at,
      'attempts', t.attempt_count,
      'reason', t.last_error)), '[]')
    from (
      select * from public.ingest_fallback_buffer b
      where b.site_id = v_site.id and b.status = 'FAILED'
      order by b.created_at desc limit 200) t);
end
$$;
grant execute on function public.list_failed_events(text) to authenticated;

-- replay_failed_events: gives up to 200 failed events a fresh budget of attempts. They were billed
-- when they were captured; this bills nothing.
--   Moves    FAILED -> PENDING.
--   Callers  operators.
create function public.replay_failed_events(p_public_id text, p_ids uuid[]) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_replayed int;
begin
  update public.ingest_fallback_buffer b
    set status = 'PENDING', attempt_count = 0, updated_at = private.current_moment()
    where b.site_id = v_site.id and b.status = 'FAILED' and b.id = any (p_ids[1:200]);
  get diagnostics v_replayed = row_count;
  return jsonb_build_object('replayed', v_replayed);
end
$$;
grant execute on function public.replay_failed_events(text, uuid[]) to authenticated;
