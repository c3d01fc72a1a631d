-- The ingest worker: captured events are leased, stored and marked, each exactly once.

-- ingest_attempts: how often a captured event is leased before it is FAILED.
create function private.ingest_attempts() returns int
language sql immutable parallel safe set search_path = ''
as $$ select 5 $$;

-- get_and_claim_fallback_batch: leases captured events to one worker.
--   Moves    PENDING, and PROCESSING older than two minutes, -> PROCESSING. After five attempts
--            -> FAILED.
--   Safe     from many workers at once: skip locked gives each row to one of them.
--            An event that was tried before is leased alone: if it crashes its worker, no other
--            event is lost with it. It waits 15 s longer after each attempt, so that a short
--            outage does not use up all five.
--   Bitmaps  are off, so that the planner walks pending_events in its order. With statistics from
--            before a backlog it expects few pending rows, and reads and sorts all of them for
--            each batch: 350 ms instead of 10 with 200,000 waiting.
--   Returns  {token, rows: [{id, siteUuid, payload, receivedAt, phoneHash}]}; no rows when nothing
--            waits. phoneHash is the SHA-256 of a caller's number, where the payload has one.
--   Callers  service role only.
create function public.get_and_claim_fallback_batch(p_limit int default 200) returns jsonb
language plpgsql security definer set search_path = '' set enable_bitmapscan = off
as $$
declare
  v_now timestamptz := private.current_moment();
  v_dead timestamptz := v_now - interval '2 minutes';   -- a lease this old is presumed dead
  v_token uuid := gen_random_uuid();
  v_ids uuid[];
  v_answer jsonb;
begin
  select array_agg(t.id) into v_ids from (
    select b.id from public.ingest_fallback_buffer b
    where b.status = 'PENDING' and b.attempt_count = 0
    order by b.created_at, b.position, b.id
    limit least(greatest(p_limit, 1), 500) for update skip locked) t;
  if v_ids is null then
    select array_agg(t.id) into v_ids from (
      select b.id from public.ingest_fallback_buffer b
      where b.status = 'PENDING' and b.updated_at < v_now - interval '15 seconds' * b.attempt_count
      order by b.created_at, b.position, b.id limit 1 for update skip locked) t;
  end if;
  -- Dead leases come last: in a backlog, each look at them steps over the entries of all events
  -- stored since the last vacuum.
  if v_ids is null then
    update public.ingest_fallback_buffer b
      set status = 'FAILED', claim_token = null, claimed_at = null, updated_at = v_now,
          last_error = coalesce(b.last_error, 'Its worker ended five times without an answer.'),
          payload = private.payload_to_keep(b.site_id, b.payload)
      where b.id in (
        select x.id from public.ingest_fallback_buffer x
        where x.status = 'PROCESSING' and x.claimed_at < v_dead
          and x.attempt_count >= private.ingest_attempts()
        for update skip locked);
    select array_agg(t.id) into v_ids from (
      select b.id from public.ingest_fallback_buffer b
      where b.status = 'PROCESSING' and b.claimed_at < v_dead
        and b.attempt_count < private.ingest_attempts()
      order by b.claimed_at limit 1 for update skip locked) t;
  end if;
  with leased as (
    update public.ingest_fallback_buffer b
      set status = 'PROCESSING', claim_token = v_token, claimed_at = v_now,
          attempt_count = b.attempt_count + 1, updated_at = v_now
      where b.id = any (v_ids)
      returning b.id, b.site_id, b.payload, b.created_at, b.position
  )
  select jsonb_build_object(
    'token', v_token,
    'rows', coalesce(jsonb_agg(jsonb_build_object(
      'id', l.id,
      'siteUuid', l.site_id,
      'payload', l.payload,
      'receivedAt', l.created_at,
      'phoneHash', case when l.payload ->> 'phone' is not null then (
        select private.phone_hash(private.e164(s, l.payload ->> 'phone'))
        from public.sites s where s.id = l.site_id) end)
      order by l.created_at, l.position, l.id), '[]'))
    into v_answer from leased l;
  return v_answer;
end
$$;
grant execute on function public.get_and_claim_fallback_batch(int) to opsmantik_app, service_role;

-- release_fallback_event: a leased event could not be stored. It waits for its next attempt, or
-- is FAILED after the fifth.
--   Moves    PROCESSING -> PENDING | FAILED, only under its own claim.
--   Callers  service role only.
create function public.release_fallback_event(p_token uuid, p_id uuid, p_reason text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_status text;
begin
  update public.ingest_fallback_buffer b
    set status = case
          when b.attempt_count >= private.ingest_attempts() then 'FAILED'
          else 'PENDING' end,
        claim_token = null,
        claimed_at = null,
        last_error = left(p_reason, 500),
        updated_at = private.current_moment(),
        payload = private.payload_to_keep(b.site_id, b.payload)
    where b.id = p_id and b.claim_token = p_token
    returning b.status into v_status;
  return jsonb_build_object('status', v_status);
end
$$;
grant execute on function public.release_fallback_event(uuid, uuid, text)
  to opsmantik_app, service_role;

-- purge_stored_events: forgets captured payloads a day after they were stored. At most 20,000 a
-- call.
--   Callers  service role only (cron).
create function public.purge_stored_events() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  delete from public.ingest_fallback_buffer b where b.id in (
    select x.id from public.ingest_fallback_buffer x
    where x.status = 'RECOVERED' and x.updated_at < private.current_moment() - interval '1 day'
    order by x.updated_at limit 20000 for update skip locked);
  get diagnostics v_purged = row_count;
  delete from private.held_reports h where (h.site_id, h.intent_stamp) in (
    select x.site_id, x.intent_stamp from private.held_reports x
    where x.held_until < private.current_moment() order by x.held_until limit 5000);
  return jsonb_build_object('purged', v_purged);
end
$$;
grant execute on function public.purge_stored_events() to opsmantik_app, service_role;
