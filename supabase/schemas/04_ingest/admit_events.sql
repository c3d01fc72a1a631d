-- The gate: each event is admitted once, counted once and captured once.

-- site_for_ingest: what the gate must know of a site. The app caches it for seconds.
--   Callers  service role only.
create function public.site_for_ingest(p_public_id text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'siteUuid', s.id,
    'domains', to_jsonb(s.domains),
    'consentMode', s.consent_mode,
    'respectsPrivacySignal', s.respects_privacy_signal,
    'pageViews', s.page_views_enabled,
    'isPaused', private.is_paused(s),
    'ceilings', private.ceilings_of(s.id))
  from public.sites s where s.public_id = p_public_id and s.archived_at is null
$$;
grant execute on function public.site_for_ingest(text) to opsmantik_app, service_role;

-- admit_events: the billing gate for up to 100 events of one site: idempotency, then quota, then
-- capture.
--   Takes    p_events [{k: 64 hex, e: eid or null, n: event name, p: payload, r?: reporter, o?:
--            older eid}] in the order they were sent. r is given for calls: 1 the tracker, 2 a
--            telephone system. An event whose older eid is known is the same event.
--   Safe     from any number of requests: keys are inserted in order. Only plans with a cap lock,
--            on one row per site and month.
--   Room     each event is judged in the order sent, as if it came alone: a signed lead up to the
--            plan's cap, an unsigned one up to signed_events() less and within range_room() of
--            its address range, anything else up to the part that is not kept for leads. A
--            call with a lead has the events of one request.
--   Returns  {results: ["accepted" | "duplicate" | "enriched" | "quota", …], used, limit,
--            overage}. Only an accepted event leaves a billing row. A call that the other
--            reporter reported first is enriched: captured once more, never billed.
--   Callers  service role only.
create function public.admit_events(p_site_id uuid, p_events jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_expires timestamptz := greatest(
    v_now + private.billed_rows_kept(),
    date_trunc('month', v_now, 'UTC') + interval '3 months');
  v_month text;
  v_plan public.site_plans;
  v_cap bigint;
  v_used bigint := 0;
  v_kept bigint;   -- of the cap, for leads
  v_room bigint;   -- for signed leads; null: no cap
  v_unsigned bigint;   -- for other leads of this address range
  v_signed bigint;   -- of v_kept, for signed leads
  v_network text;   -- the range that an unsigned request comes from
  v_open bigint;   -- for anything else
  v_accepted int[] := '{}';
  v_refused int[] := '{}';
  v_enriched int[] := '{}';
  v_total int := jsonb_array_length(p_events);
  v_first jsonb := p_events -> 0;
  v_results jsonb;
begin
  if v_total not between 1 and 100 then
    perform private.fail(400, 'VALIDATION_FAILED');
  end if;
  select p.* into v_plan from public.site_plans p where p.site_id = p_site_id;
  if v_plan.monthly_limit is not null then
    v_month := private.billing_month(v_now);
    v_cap := private.plan_cap(v_plan);
    if v_cap is not null then
      v_used := private.lock_usage(p_site_id, v_month);
      v_room := greatest(0, v_cap - v_used);
      -- open_events() written out: as a call it made an admission a fifth slower.
      v_kept := floor(v_cap::numeric * v_plan.lead_share_percent / 100)::bigint;
      v_open := greatest(0, v_room - v_kept);
      v_unsigned := v_room;
      if v_open < v_total then
        v_signed := private.signed_events(p_site_id, v_kept);
        v_network := case when v_first ->> 'r' is distinct from '2'
          then v_first #>> '{p,network}' end;
        v_unsigned := least(
          greatest(0, v_room - v_signed),
          v_open + private.range_room(p_site_id, v_month, v_network, v_kept - v_signed));
      end if;
    else
      select coalesce(max(u.event_count), 0) into v_used from public.site_usage_monthly u
        where u.site_id = p_site_id and u.year_month = v_month;
    end if;
  end if;

  -- One row for each event that is new, by its key and by its eid.
  if v_room = 0 or (v_open = 0 and not private.has_lead(p_events, v_unsigned = 0)) then
    v_refused := private.unseen_events(p_site_id, p_events);
  elsif v_total = 1 then   -- nearly every request; the statement for many takes 100 us more
    if not (v_first ? 'o' and exists (
        select from public.ingest_idempotency x
        where x.site_id = p_site_id and x.eid = v_first ->> 'o')) then
      insert into public.ingest_idempotency
          (site_id, idempotency_key, eid, event_name, reported_by, created_at, expires_at)
        values (p_site_id, decode(v_first ->> 'k', 'hex'), v_first ->> 'e', v_first ->> 'n',
          coalesce((v_first ->> 'r')::smallint, 1), v_now, v_expires)
        on conflict do nothing;
      if found then
        v_accepted := '{1}';
      end if;
    end if;
  else
    v_accepted := private.claim_keys_in_turn(p_site_id, p_events, v_now, v_expires);
    if cardinality(v_accepted) > v_open then
      v_refused := private.without_room(p_events, v_accepted,
        array[v_open, v_unsigned, v_room]);
      v_accepted := array(
        select n from unnest(v_accepted) n where n <> all (v_refused) order by n);
      delete from public.ingest_idempotency x using unnest(v_refused) position
        where x.site_id = p_site_id
          and x.idempotency_key = decode(p_events -> (position - 1) ->> 'k', 'hex');
    end if;
  end if;
  if cardinality(v_accepted) + cardinality(v_refused) < v_total then
    v_enriched := private.note_second_reports(p_site_id, p_events, v_accepted || v_refused);
  end if;
  if cardinality(v_accepted) + cardinality(v_enriched) > 0 then
    insert into public.ingest_fallback_buffer
        (site_id, payload, counted, position, is_enrichment, created_at, updated_at)
      select p_site_id, p_events -> (n - 1) -> 'p', v_cap is not null or n = any (v_enriched),
        n, n = any (v_enriched), v_now, v_now
      from unnest(v_accepted || v_enriched) n;
  end if;
  if v_cap is not null and cardinality(v_accepted) > 0 then
    update public.site_usage_monthly u
      set event_count = u.event_count + cardinality(v_accepted), updated_at = v_now
      where u.site_id = p_site_id and u.year_month = v_month;
    if v_network is not null and cardinality(v_accepted) > v_open then
      perform private.note_range(
        p_site_id, v_month, v_network, cardinality(v_accepted) - v_open);
    end if;
  end if;
  if cardinality(v_accepted) = v_total then
    v_results := to_jsonb(array_fill('accepted'::text, array[v_total]));
  else
    insert into public.ingest_drop_deltas (site_id, day, reason, drops)
      select p_site_id, (v_now at time zone 'UTC')::date, d.reason, d.drops
      from (values
        ('quota', cardinality(v_refused)),
        ('duplicate',
          v_total - cardinality(v_refused) - cardinality(v_accepted) - cardinality(v_enriched))
      ) d (reason, drops)
      where d.drops > 0;
    v_results := (
      select jsonb_agg(case
          when n = any (v_accepted) then 'accepted'
          when n = any (v_refused) then 'quota'
          when n = any (v_enriched) then 'enriched'
          else 'duplicate' end order by n)
      from generate_series(1, v_total) n);
  end if;
  return jsonb_build_object(
    'results', v_results,
    'used', v_used + cardinality(v_accepted),
    'limit', v_plan.monthly_limit,
    'overage', coalesce(v_used + cardinality(v_accepted) > v_plan.monthly_limit, false));
end
$$;
grant execute on function public.admit_events(uuid, jsonb) to opsmantik_app, service_role;

-- note_second_reports: the positions of calls that the other reporter reported first. Each reporter
-- counts once per call, so a repeated request enriches nothing and a flood of them stores nothing.
create function private.note_second_reports(p_site_id uuid, p_events jsonb, p_done int[])
returns int[]
language plpgsql security definer set search_path = ''
as $$
declare
  v_position int;
  v_event jsonb;
  v_reporter smallint;
  v_enriched int[] := '{}';
begin
  for v_position in select n from generate_series(1, jsonb_array_length(p_events)) n loop
    v_event := p_events -> (v_position - 1);
    v_reporter := (v_event ->> 'r')::smallint;
    continue when v_reporter is null or v_position = any (p_done);
    update public.ingest_idempotency x set reported_by = x.reported_by | v_reporter
      where x.site_id = p_site_id and x.eid = v_event ->> 'e' and x.reported_by & v_reporter = 0;
    if found then
      v_enriched := v_enriched || v_position;
    end if;
  end loop;
  return v_enriched;
end
$$;

-- unseen_events: the positions of events that are new, when there is no room for any of them.
create function private.unseen_events(p_site_id uuid, p_events jsonb) returns int[]
language sql stable security definer set search_path = ''
as $$
  select coalesce(array_agg(t.position::int), '{}')
  from jsonb_array_elements(p_events) with ordinality t (event, position)
  where not exists (
      select from public.ingest_idempotency x
      where x.site_id = p_site_id and x.idempotency_key = decode(t.event ->> 'k', 'hex'))
    and not exists (
      select from public.ingest_idempotency x
      where x.site_id = p_site_id and x.eid in (t.event ->> 'e', t.event ->> 'o'))
$$;
