-- The ingest worker: captured events are leased, stored and marked, each exactly once.

-- get_and_claim_fallback_batch: lease captured events to one worker.
--   Moves    PENDING, and PROCESSING older than two minutes, -> PROCESSING. After five attempts -> FAILED.
--   Safe     from many workers at once: skip locked gives each row to one of them.
--   An event that was tried before is leased alone: if it ends its worker, it takes no other with it. It waits 15 s longer
--   after each attempt, so that a passing trouble does not use up all five.
--   Without bitmaps the planner walks pending_events in its order. With statistics from before a backlog it would take pending rows for
--   few, and read and sort all of them for each batch: 350 ms instead of 10 with 200,000 waiting.
--   Returns  {token, rows: [{id, siteId, payload, receivedAt}]}; no rows when nothing waits.
--   Callers  service role only.
create function public.get_and_claim_fallback_batch(p_limit int default 200) returns jsonb
language plpgsql security definer set search_path = '' set enable_bitmapscan = off
as $$
declare
  v_now timestamptz := private.current_moment();
  v_token uuid := gen_random_uuid();
  v_ids uuid[];
  v_answer jsonb;
begin
  select array_agg(t.id) into v_ids from (
    select b.id from public.ingest_fallback_buffer b
    where b.status = 'PENDING' and b.attempt_count = 0
    order by b.created_at, b.position, b.id limit least(greatest(p_limit, 1), 500) for update skip locked) t;
  if v_ids is null then
    select array_agg(t.id) into v_ids from (
      select b.id from public.ingest_fallback_buffer b
      where b.status = 'PENDING' and b.updated_at < v_now - interval '15 seconds' * b.attempt_count
      order by b.created_at, b.position, b.id limit 1 for update skip locked) t;
  end if;
  if v_ids is null then   -- only now: in a backlog each look at old leases steps over those of all events stored since the last vacuum
    update public.ingest_fallback_buffer b
      set status = 'FAILED', claim_token = null, claimed_at = null, updated_at = v_now,
          last_error = coalesce(b.last_error, 'Its worker ended five times without an answer.'),
          payload = case when private.refused_marketing(b.site_id, b.payload ->> 'visitor')
            then private.without_marketing(b.payload) else b.payload end
      where b.status = 'PROCESSING' and b.claimed_at < v_now - interval '2 minutes' and b.attempt_count >= 5;
    select array_agg(t.id) into v_ids from (
      select b.id from public.ingest_fallback_buffer b
      where b.status = 'PROCESSING' and b.claimed_at < v_now - interval '2 minutes'
      order by b.claimed_at limit 1 for update skip locked) t;
  end if;
  with leased as (
    update public.ingest_fallback_buffer b
      set status = 'PROCESSING', claim_token = v_token, claimed_at = v_now, attempt_count = b.attempt_count + 1, updated_at = v_now
      where b.id = any (v_ids)
      returning b.id, b.site_id, b.payload, b.created_at, b.position
  )
  select jsonb_build_object('token', v_token, 'rows', coalesce(jsonb_agg(jsonb_build_object(
      'id', l.id, 'siteId', l.site_id, 'payload', l.payload, 'receivedAt', l.created_at)
      order by l.created_at, l.position, l.id), '[]'))
    into v_answer from leased l;
  return v_answer;
end
$$;

-- release_fallback_event: a leased event could not be stored. It waits for its next attempt, or is FAILED after the fifth.
--   Moves    PROCESSING -> PENDING | FAILED, only under its own claim.
--   Callers  service role only.
create function public.release_fallback_event(p_token uuid, p_id uuid, p_reason text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_status text;
begin
  update public.ingest_fallback_buffer b
    set status = case when b.attempt_count >= 5 then 'FAILED' else 'PENDING' end, claim_token = null, claimed_at = null,
        last_error = left(p_reason, 500), updated_at = private.current_moment(),
        payload = case when private.refused_marketing(b.site_id, b.payload ->> 'visitor')
          then private.without_marketing(b.payload) else b.payload end
    where b.id = p_id and b.claim_token = p_token
    returning b.status into v_status;
  return jsonb_build_object('status', v_status);
end
$$;

-- store_events: write what leased events say, and mark them stored, in one transaction.
--   Takes    p_rows [{id, visitor, receivedAt, category, action, label, value, url, …}] as lib/leads reads them from the payload.
--   Moves    PROCESSING -> RECOVERED, only rows still under p_token: a redelivery or a second worker changes nothing.
--   Safe     against workers with events of the same visitor: visitors are locked in order first.
--   A row with a token is PROCESSING. Asking for the status too would offer the planner claimed_events, which looks small and holds an
--   entry of each event stored since the last vacuum: with 90,000 of them a batch took 320 ms instead of 95.
--   Returns  {stored, calls}.
--   Callers  service role only.
create function public.store_events(p_token uuid, p_rows jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_row record;
  v_session public.sessions;
  v_at timestamptz;
  v_event jsonb;
  v_stored int := 0;
  v_calls int := 0;
begin
  perform pg_catalog.pg_advisory_xact_lock(t.visitor) from (
    select distinct hashtextextended(b.site_id || '/' || (r ->> 'visitor'), 0) as visitor
    from jsonb_array_elements(p_rows) r join public.ingest_fallback_buffer b on b.id = (r ->> 'id')::uuid
    order by 1) t;
  -- Calls that are known already are locked in the order in which an import and a withdrawal lock them.
  perform from public.calls c
    where (c.site_id, c.intent_stamp) in (
      select b.site_id, r ->> 'intentStamp'
      from jsonb_array_elements(p_rows) r join public.ingest_fallback_buffer b on b.id = (r ->> 'id')::uuid
      where r ->> 'channel' is not null)
    order by c.id for update;
  for v_row in
    select b.id, b.site_id, b.is_enrichment, b.created_at as received_at, r as event
    from public.ingest_fallback_buffer b join jsonb_array_elements(p_rows) r on b.id = (r ->> 'id')::uuid
    where b.claim_token = p_token
    order by b.created_at, b.position, b.id
    for update of b
  loop
    v_at := private.happened_at(v_row.received_at, v_row.event -> 'ageMs');
    v_session := private.visit_of_stamp(v_row.site_id, v_row.event);
    if v_session.id is null then
      v_session := private.touch_session(v_row.site_id, v_at, v_row.event);
    end if;
    -- Of a visitor without marketing consent no address or label keeps a click id or a number; store_call knows about the rest.
    v_event := case when v_session.marketing_consent then v_row.event
      else v_row.event || (private.without_marketing(v_row.event) - '{gclid,wbraid,gbraid,phone}'::text[]) end;
    if not v_row.is_enrichment then   -- a call is one event of the journey, whoever told of it
      insert into private.events
          (id, site_id, session_id, received_at, happened_at, category, action, label, value, url)
        values (v_row.id, v_row.site_id, v_session.id, v_row.received_at, v_at, v_event ->> 'category',
          v_event ->> 'action', v_event ->> 'label', (v_event ->> 'value')::numeric, v_event ->> 'url');
    end if;
    if v_event ->> 'channel' is not null then
      v_calls := v_calls + private.store_call(v_session, v_at, v_event);
    elsif v_at < v_session.last_seen_at then
      perform private.rescore_calls(v_session, v_at);
    end if;
    v_stored := v_stored + 1;
  end loop;

  insert into public.site_usage_monthly as u (site_id, year_month, event_count, updated_at)
    select b.site_id, private.billing_month(b.created_at), count(*), private.current_moment()
    from public.ingest_fallback_buffer b
    where b.claim_token = p_token and not b.counted
      and b.id in (select (r ->> 'id')::uuid from jsonb_array_elements(p_rows) r)
    group by 1, 2 order by 1, 2
    on conflict (site_id, year_month) do update set event_count = u.event_count + excluded.event_count, updated_at = excluded.updated_at;
  update public.ingest_fallback_buffer b
    set status = 'RECOVERED', claim_token = null, claimed_at = null, counted = true, updated_at = private.current_moment(),
        payload = '{}'   -- what it said now stands in one place, where it can be erased
    where b.claim_token = p_token
      and b.id in (select (r ->> 'id')::uuid from jsonb_array_elements(p_rows) r);
  return jsonb_build_object('stored', v_stored, 'calls', v_calls);
end
$$;

-- visit_of_stamp: the visit of a call that is known already, for a telephone system that names the click but
-- not the visitor. Without such a call: a null row, and the stamp stands in for the visitor.
create function private.visit_of_stamp(p_site_id uuid, p_event jsonb) returns public.sessions
language sql stable security definer set search_path = ''
as $$
  select s.* from public.calls c join public.sessions s on s.id = c.session_id
  where p_event ->> 'reporter' = 'system' and p_event ->> 'visitor' = p_event ->> 'intentStamp'
    and c.site_id = p_site_id and c.intent_stamp = p_event ->> 'intentStamp'
$$;

-- purge_stored_events: forget captured payloads a day after they were stored. At most 20,000 a call.
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

grant execute on function
  public.get_and_claim_fallback_batch(int),
  public.release_fallback_event(uuid, uuid, text),
  public.store_events(uuid, jsonb),
  public.purge_stored_events()
to opsmantik_app, service_role;
