-- Storing: a captured event becomes part of a session and, where somebody reached out, a call.

-- store_events: stores leased events and marks them stored, in one transaction.
--   Takes    p_rows [{id, visitor, receivedAt, category, action, label, value, url, …}] as
--            lib/ingest/drain.ts reads them from the payload.
--   Moves    PROCESSING -> RECOVERED, only rows still under p_token: a redelivery or a second
--            worker changes nothing.
--   Safe     against workers with events of the same visitor: visitors are locked in order first.
--            Events of an erased person are marked stored and left out.
--   Returns  {stored, calls}.
--   Plans    a row with a token is PROCESSING, so the status is not asked for. If it were, the
--            planner might take claimed_events, which looks small but holds an entry of each event
--            stored since the last vacuum: with 90,000 of them a batch took 320 ms instead of 95.
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
  v_erasing uuid[];
begin
  perform pg_catalog.pg_advisory_xact_lock(t.visitor) from (
    select distinct hashtextextended(b.site_id || '/' || (r ->> 'visitor'), 0) as visitor
    from jsonb_array_elements(p_rows) r
    join public.ingest_fallback_buffer b on b.id = (r ->> 'id')::uuid
    order by 1) t;
  -- Known calls are locked by id, as an import and a withdrawal lock them.
  perform from public.calls c
    where (c.site_id, c.intent_stamp) in (
      select b.site_id, r ->> 'intentStamp'
      from jsonb_array_elements(p_rows) r
      join public.ingest_fallback_buffer b on b.id = (r ->> 'id')::uuid
      where r ->> 'channel' is not null)
    order by c.id for update;
  v_erasing := private.sites_with_erasures(p_rows);
  for v_row in
    select b.id, b.site_id, b.is_enrichment, b.created_at as received_at, r as event
    from public.ingest_fallback_buffer b
    join jsonb_array_elements(p_rows) r on b.id = (r ->> 'id')::uuid
    where b.claim_token = p_token
    order by b.created_at, b.position, b.id
    for update of b
  loop
    v_at := private.happened_at(v_row.received_at, v_row.event -> 'ageMs');
    continue when v_row.site_id = any (v_erasing)
      and private.is_forgotten(v_row.site_id, v_at, v_row.event);
    v_session := private.visit_of_stamp(v_row.site_id, v_row.event);
    if v_session.id is null then
      v_session := private.touch_session(v_row.site_id, v_at, v_row.event);
    end if;
    -- Without marketing consent, addresses and labels lose click ids and numbers here; store_call
    -- drops the rest.
    v_event := case
      when v_session.marketing_consent then v_row.event
      else v_row.event
        || (private.without_marketing(v_row.event) - '{gclid,wbraid,gbraid,phone}'::text[]) end;
    if not v_row.is_enrichment then   -- a call is one event of the journey, whoever reports it
      insert into private.events
          (id, site_id, session_id, received_at, happened_at, category, action, label, value, url)
        values (v_row.id, v_row.site_id, v_session.id, v_row.received_at, v_at,
          v_event ->> 'category', v_event ->> 'action', v_event ->> 'label',
          (v_event ->> 'value')::numeric, v_event ->> 'url');
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
    on conflict (site_id, year_month) do update
      set event_count = u.event_count + excluded.event_count, updated_at = excluded.updated_at;
  perform private.note_origins(p_token, p_rows);
  update public.ingest_fallback_buffer b
    set status = 'RECOVERED', claim_token = null, claimed_at = null, counted = true,
        updated_at = private.current_moment(),
        payload = '{}'   -- its content now stands in one place, where it can be erased
    where b.claim_token = p_token
      and b.id in (select (r ->> 'id')::uuid from jsonb_array_elements(p_rows) r);
  return jsonb_build_object('stored', v_stored, 'calls', v_calls);
end
$$;
grant execute on function public.store_events(uuid, jsonb) to opsmantik_app, service_role;

-- visit_of_stamp: the visit of a known call, for a telephone system that names the click but not
-- the visitor. For an unknown call it is a null row, and the stamp stands in for the visitor.
create function private.visit_of_stamp(p_site_id uuid, p_event jsonb) returns public.sessions
language sql stable security definer set search_path = ''
as $$
  select s.* from public.calls c join public.sessions s on s.id = c.session_id
  where p_event ->> 'reporter' = 'system' and p_event ->> 'visitor' = p_event ->> 'intentStamp'
    and c.site_id = p_site_id and c.intent_stamp = p_event ->> 'intentStamp'
$$;
