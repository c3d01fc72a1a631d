-- Ingest: each unique event is one row in ingest_idempotency, one billable unit, and one captured payload, in one transaction.

create table public.ingest_idempotency (
  site_id uuid not null references public.sites (id) on delete cascade,
  idempotency_key bytea not null,
  eid text,                       -- the client's id of this event: a retry in a later time bucket is still the same event
  event_name text not null,       -- category/action, without the label: a billing row holds no personal data
  reported_by smallint not null default 1,   -- who told of this call: 1 the tracker, 2 a telephone system, 3 both
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (site_id, idempotency_key),
  constraint idempotency_key_is_sha_256 check (octet_length(idempotency_key) = 32),
  constraint eid_is_at_most_64_characters check (char_length(eid) between 1 and 64),
  constraint reporters_are_known check (reported_by between 1 and 3)
);
create unique index one_row_per_client_event on public.ingest_idempotency (site_id, eid) where eid is not null;
create index billable_rows_of_a_month on public.ingest_idempotency (site_id, created_at);
create index rows_by_expiry on public.ingest_idempotency (expires_at);

create table public.ingest_fallback_buffer (
  -- private.uuid_v7() written out: as a call it takes 50 us of each event, written out 5.
  id uuid primary key default encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) placing
    substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid,
  site_id uuid not null references public.sites (id),
  payload jsonb not null,
  status text not null default 'PENDING',
  attempt_count int not null default 0,
  claim_token uuid,
  claimed_at timestamptz,
  counted boolean not null,       -- already in site_usage_monthly; else the worker adds it
  position smallint not null default 0,   -- its place in the batch: rows of one batch share created_at
  is_enrichment boolean not null default false,   -- the second report of a call: stored, never billed
  last_error text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint status_is_known check (status in ('PENDING', 'PROCESSING', 'RECOVERED', 'FAILED')),
  constraint processing_rows_have_a_claim check ((status = 'PROCESSING') = (claim_token is not null and claimed_at is not null)),
  constraint failed_rows_say_why check (status <> 'FAILED' or last_error is not null)
)
-- Each row is updated twice and purged, and every change of status leaves a dead entry in an index: a claim steps over those of
-- pending_events until vacuum takes them, so vacuum comes at 1 % and does not pause. No such update is HOT (status stands in the
-- indexes' predicates); the free space keeps a row's versions on its page.
with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.02);
create index pending_events on public.ingest_fallback_buffer (created_at, position, id) where status = 'PENDING';
create index claimed_events on public.ingest_fallback_buffer (claimed_at) where status = 'PROCESSING';
create index failed_events on public.ingest_fallback_buffer (site_id, created_at) where status = 'FAILED';
create index stored_events on public.ingest_fallback_buffer (updated_at) where status = 'RECOVERED';

-- What was not accepted, and why. Appended, so that a storm of duplicates never queues behind one counter row; folded by a cron.
create table public.ingest_drop_deltas (
  id bigint generated always as identity primary key,
  site_id uuid not null references public.sites (id),
  day date not null,
  reason text not null,
  drops int not null,
  constraint drop_reason_is_known check (reason in ('duplicate', 'bot', 'consent', 'quota', 'privacy_signal')),
  constraint drops_are_positive check (drops > 0)
);
create table public.ingest_drops_daily (
  site_id uuid not null references public.sites (id),
  day date not null,
  reason text not null,
  drops bigint not null,
  primary key (site_id, day, reason)
);
alter table public.ingest_idempotency enable row level security;
alter table public.ingest_fallback_buffer enable row level security;
alter table public.ingest_drop_deltas enable row level security;
alter table public.ingest_drops_daily enable row level security;

create function private.note_drops(p_site_id uuid, p_reason text, p_drops int) returns void
language sql security definer set search_path = ''
as $$
  insert into public.ingest_drop_deltas (site_id, day, reason, drops)
  select p_site_id, (private.current_moment() at time zone 'UTC')::date, p_reason, p_drops where p_drops > 0
$$;

-- admit_events: the billing gate. Up to 100 events of one site: idempotency, then quota, then capture.
--   Takes    p_events [{k: 64 hex, e: eid or null, n: event name, p: payload, r?: reporter, o?: older eid}]
--            in the order they were sent. r is given for calls: 1 the tracker, 2 a telephone system.
--            An event whose older eid is known is the same event.
--   Safe     from any number of requests: keys are inserted in order. Only plans with a cap lock, on
--            one row per site and month.
--   Returns  {results: ["accepted" | "duplicate" | "enriched" | "quota", …], used, limit, overage}.
--            Only an accepted event leaves a billing row. A call that the other reporter told of first
--            is enriched: captured once more, never billed.
--   Callers  service role only.
create function public.admit_events(p_site_id uuid, p_events jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_expires timestamptz :=
    greatest(v_now + interval '90 days', date_trunc('month', v_now, 'UTC') + interval '3 months');
  v_month text;
  v_plan public.site_plans;
  v_cap bigint;
  v_used bigint := 0;
  v_room bigint;                       -- null: no cap
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
  if found then
    v_month := private.billing_month(v_now);
    v_cap := private.plan_cap(v_plan);
    if v_cap is not null then
      v_used := private.lock_usage(p_site_id, v_month);
      v_room := greatest(0, v_cap - v_used);
    elsif v_plan.monthly_limit is not null then
      select coalesce(max(u.event_count), 0) into v_used from public.site_usage_monthly u
        where u.site_id = p_site_id and u.year_month = v_month;
    end if;
  end if;

  -- One row for each event that is new, by its key and by its eid.
  if v_room = 0 then
    v_refused := private.unseen_events(p_site_id, p_events);
  elsif v_total = 1 then               -- nearly every request; the statement for many takes 100 us more
    if not (v_first ? 'o' and exists (select from public.ingest_idempotency x
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
    -- Keys are inserted in order, so that two batches with the same keys never wait for each other in a circle.
    with input as materialized (
      select t.position::int as position, decode(t.event ->> 'k', 'hex') as key, t.event ->> 'e' as eid,
        t.event ->> 'n' as name, coalesce((t.event ->> 'r')::smallint, 1) as reporter
      from jsonb_array_elements(p_events) with ordinality t(event, position)
    ), claimed as (
      insert into public.ingest_idempotency
          (site_id, idempotency_key, eid, event_name, reported_by, created_at, expires_at)
      select p_site_id, i.key, i.eid, i.name, i.reporter, v_now, v_expires from input i
      order by i.key, i.position
      on conflict do nothing
      returning idempotency_key, eid
    )
    select coalesce(array_agg(a.position order by a.position), '{}') into v_accepted from (
      select min(i.position) as position
      from claimed c join input i on i.key = c.idempotency_key and i.eid is not distinct from c.eid
      group by i.key) a;
    if cardinality(v_accepted) > v_room then
      v_refused := v_accepted[v_room + 1:];
      v_accepted := v_accepted[:v_room];
      delete from public.ingest_idempotency x using unnest(v_refused) position
        where x.site_id = p_site_id and x.idempotency_key = decode(p_events -> (position - 1) ->> 'k', 'hex');
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
  end if;
  if cardinality(v_accepted) = v_total then
    v_results := to_jsonb(array_fill('accepted'::text, array[v_total]));
  else
    insert into public.ingest_drop_deltas (site_id, day, reason, drops)
      select p_site_id, (v_now at time zone 'UTC')::date, d.reason, d.drops
      from (values ('quota', cardinality(v_refused)),
        ('duplicate', v_total - cardinality(v_refused) - cardinality(v_accepted) - cardinality(v_enriched)))
        d(reason, drops)
      where d.drops > 0;
    v_results := (
      select jsonb_agg(case when n = any (v_accepted) then 'accepted' when n = any (v_refused) then 'quota'
        when n = any (v_enriched) then 'enriched' else 'duplicate' end order by n)
      from generate_series(1, v_total) n);
  end if;
  return jsonb_build_object('results', v_results, 'used', v_used + cardinality(v_accepted),
    'limit', v_plan.monthly_limit,
    'overage', coalesce(v_used + cardinality(v_accepted) > v_plan.monthly_limit, false));
end
$$;

-- note_second_reports: the positions of calls that the other reporter told of first. Each reporter counts
-- once per call, so a repeated request enriches nothing and a flood of them stores nothing.
create function private.note_second_reports(p_site_id uuid, p_events jsonb, p_done int[]) returns int[]
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

-- lock_usage: this month's figure of a capped site, held until the admission ends.
create function private.lock_usage(p_site_id uuid, p_year_month text) returns bigint
language plpgsql security definer set search_path = ''
as $$
declare
  v_used bigint;
begin
  select u.event_count into v_used from public.site_usage_monthly u
    where u.site_id = p_site_id and u.year_month = p_year_month for update;
  if not found then
    insert into public.site_usage_monthly (site_id, year_month, updated_at) values (p_site_id, p_year_month, private.current_moment())
      on conflict do nothing;
    select u.event_count into v_used from public.site_usage_monthly u
      where u.site_id = p_site_id and u.year_month = p_year_month for update;
  end if;
  return v_used;
end
$$;

-- unseen_events: the positions of events that are new, when there is no room for any.
create function private.unseen_events(p_site_id uuid, p_events jsonb) returns int[]
language sql stable security definer set search_path = ''
as $$
  select coalesce(array_agg(t.position::int), '{}') from jsonb_array_elements(p_events) with ordinality t(event, position)
  where not exists (select from public.ingest_idempotency x where x.site_id = p_site_id and x.idempotency_key = decode(t.event ->> 'k', 'hex'))
    and not exists (select from public.ingest_idempotency x
      where x.site_id = p_site_id and x.eid in (t.event ->> 'e', t.event ->> 'o'))
$$;

-- count_drops: events that were turned away before the gate: robots, missing consent, a browser's privacy signal.
--   Callers  service role only.
create function public.count_drops(p_site_id uuid, p_reason text, p_drops int) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  perform private.note_drops(p_site_id, p_reason, p_drops);
  return jsonb_build_object('ok', true);
end
$$;

-- fold_drops: turn appended drops into one figure per site, day and reason. At most 50,000 a call.
--   Callers  service role only (cron).
create function public.fold_drops() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_folded int;
begin
  with taken as (
    delete from public.ingest_drop_deltas d where d.id in (
      select e.id from public.ingest_drop_deltas e order by e.id limit 50000 for update skip locked)
    returning d.site_id, d.day, d.reason, d.drops
  ), folded as (
    insert into public.ingest_drops_daily as t (site_id, day, reason, drops)
    select k.site_id, k.day, k.reason, sum(k.drops) from taken k group by 1, 2, 3 order by 1, 2, 3
    on conflict (site_id, day, reason) do update set drops = t.drops + excluded.drops
  )
  select count(*) into v_folded from taken;
  return jsonb_build_object('folded', v_folded);
end
$$;

-- site_for_ingest: what the gate must know of a site. Kept for seconds in the app's memory.
--   Callers  service role only.
create function public.site_for_ingest(p_public_id text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('siteId', s.id, 'domains', to_jsonb(s.domains), 'consentMode', s.consent_mode, 'respectsPrivacySignal', s.respects_privacy_signal,
    'pageViews', s.page_views_enabled)
  from public.sites s where s.public_id = p_public_id and s.archived_at is null
$$;

grant execute on function
  public.admit_events(uuid, jsonb),
  public.count_drops(uuid, text, int),
  public.fold_drops(),
  public.site_for_ingest(text)
to opsmantik_app, service_role;

-- verify_call_event_signature: which site signed `ts.body`, with its present secret or the one before. The secret never leaves.
-- Hashes of both signatures are compared, so that the time taken tells nothing about them.
--   Returns  {siteId, publicId, consentMode}, or null: unknown site and wrong signature look the same.
--   Callers  service role only.
create function public.verify_call_event_signature(p_public_id text, p_ts text, p_body text, p_signature text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('siteId', s.id, 'publicId', s.public_id, 'consentMode', s.consent_mode)
  from public.sites s
  join private.site_secrets x on x.site_id = s.id
  where s.public_id = p_public_id and s.archived_at is null
    and exists (
      select from unnest(array[x.call_event_secret, x.previous_call_event_secret]) secret
      where secret is not null
        and sha256(extensions.hmac(convert_to(p_ts || '.' || p_body, 'UTF8'), convert_to(secret, 'UTF8'), 'sha256'))
          = sha256(decode(p_signature, 'hex')))
$$;
grant execute on function public.verify_call_event_signature(text, text, text, text) to opsmantik_app, service_role;
