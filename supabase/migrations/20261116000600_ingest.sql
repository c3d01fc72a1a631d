-- Ingest: each unique event is one row in ingest_idempotency, one billable unit, and one captured payload, in one transaction.

create table public.ingest_idempotency (
  site_id uuid not null references public.sites (id) on delete cascade,
  idempotency_key bytea not null,
  eid text,                       -- the client's id of this event: a retry in a later time bucket is still the same event
  event_name text not null,       -- category/action, without the label: a billing row holds no personal data
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (site_id, idempotency_key),
  constraint idempotency_key_is_sha_256 check (octet_length(idempotency_key) = 32),
  constraint eid_is_at_most_64_characters check (char_length(eid) between 1 and 64)
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
create index pending_events on public.ingest_fallback_buffer (created_at, id) where status = 'PENDING';
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

-- recount_month: the exact figure of a month, under the lock that admissions of a capped site take.
-- Captured rows are locked before the figure, as store_events does: the other way round the two would deadlock.
create function private.recount_month(p_site_id uuid, p_year_month text) returns public.site_usage_monthly
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_from timestamptz := (p_year_month || '-01')::timestamp at time zone 'UTC';
  v_to timestamptz := ((p_year_month || '-01')::timestamp + interval '1 month') at time zone 'UTC';
  v_usage public.site_usage_monthly;
  v_waiting uuid[];
  v_count bigint;
  v_late bigint;
begin
  select coalesce(array_agg(t.id), '{}') into v_waiting from (
    select b.id from public.ingest_fallback_buffer b
    where b.status in ('PENDING', 'PROCESSING', 'FAILED')   -- stored rows are always counted
      and not b.counted and b.site_id = p_site_id and b.created_at >= v_from and b.created_at < v_to
    order by b.created_at, b.id for update) t;
  insert into public.site_usage_monthly (site_id, year_month, updated_at) values (p_site_id, p_year_month, v_now)
    on conflict do nothing;
  perform from public.site_usage_monthly u where u.site_id = p_site_id and u.year_month = p_year_month for update;
  -- One statement, one snapshot: an admission that commits meanwhile is in both figures or in neither.
  select
    (select count(*) from public.ingest_idempotency i
      where i.site_id = p_site_id and i.created_at >= v_from and i.created_at < v_to),
    (select count(*) from public.ingest_fallback_buffer b
      where b.status in ('PENDING', 'PROCESSING', 'FAILED') and not b.counted and b.site_id = p_site_id
        and b.created_at >= v_from and b.created_at < v_to and not b.id = any (v_waiting))
    into v_count, v_late;
  update public.site_usage_monthly u   -- late ones are left to the worker, which adds them when it stores them
    set drift = u.event_count + cardinality(v_waiting) + v_late - v_count, event_count = v_count - v_late,
        reconciled_count = v_count, reconciled_at = v_now, updated_at = v_now
    where u.site_id = p_site_id and u.year_month = p_year_month
    returning * into v_usage;
  update public.ingest_fallback_buffer b set counted = true where b.id = any (v_waiting);
  return v_usage;
end
$$;

create function private.note_drops(p_site_id uuid, p_reason text, p_drops int) returns void
language sql security definer set search_path = ''
as $$
  insert into public.ingest_drop_deltas (site_id, day, reason, drops)
  select p_site_id, (private.current_moment() at time zone 'UTC')::date, p_reason, p_drops where p_drops > 0
$$;

-- admit_events: the billing gate. Up to 100 events of one site: idempotency, then quota, then capture.
--   Takes    p_events [{k: 64 hex, e: eid or null, n: event name, p: payload}] in the order they were sent.
--   Safe     from any number of requests: keys are inserted in order. Only plans with a cap lock, on one row per site and month.
--   Returns  {results: ["accepted" | "duplicate" | "quota", …], used, limit, overage}; an event that is not accepted leaves no row.
--   Callers  service role only.
create function public.admit_events(p_site_id uuid, p_events jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_expires timestamptz := greatest(v_now + interval '90 days', date_trunc('month', v_now, 'UTC') + interval '3 months');
  v_month text;
  v_plan public.site_plans;
  v_cap bigint;
  v_used bigint := 0;
  v_room bigint;                       -- null: no cap
  v_accepted int[] := '{}';
  v_refused int[] := '{}';
  v_total int := jsonb_array_length(p_events);
  v_results jsonb;
  v_reason text;
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
    insert into public.ingest_idempotency (site_id, idempotency_key, eid, event_name, created_at, expires_at)
      values (p_site_id, decode(p_events -> 0 ->> 'k', 'hex'), p_events -> 0 ->> 'e', p_events -> 0 ->> 'n', v_now, v_expires)
      on conflict do nothing;
    if found then
      v_accepted := '{1}';
    end if;
  else
    -- Keys are inserted in order, so that two batches with the same keys never wait for each other in a circle.
    with input as materialized (
      select t.position::int as position, decode(t.event ->> 'k', 'hex') as key, t.event ->> 'e' as eid, t.event ->> 'n' as name
      from jsonb_array_elements(p_events) with ordinality t(event, position)
    ), claimed as (
      insert into public.ingest_idempotency (site_id, idempotency_key, eid, event_name, created_at, expires_at)
      select p_site_id, i.key, i.eid, i.name, v_now, v_expires from input i order by i.key, i.position
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
  if cardinality(v_accepted) > 0 then
    insert into public.ingest_fallback_buffer (site_id, payload, counted, created_at, updated_at)
      select p_site_id, p_events -> (position - 1) -> 'p', v_cap is not null, v_now, v_now from unnest(v_accepted) position;
    if v_cap is not null then
      update public.site_usage_monthly u set event_count = u.event_count + cardinality(v_accepted), updated_at = v_now
        where u.site_id = p_site_id and u.year_month = v_month;
    end if;
  end if;
  if cardinality(v_accepted) = v_total then
    v_results := to_jsonb(array_fill('accepted'::text, array[v_total]));
  elsif v_total = 1 then
    v_reason := case when cardinality(v_refused) = 1 then 'quota' else 'duplicate' end;
    insert into public.ingest_drop_deltas (site_id, day, reason, drops) values (p_site_id, (v_now at time zone 'UTC')::date, v_reason, 1);
    v_results := jsonb_build_array(v_reason);
  else
    insert into public.ingest_drop_deltas (site_id, day, reason, drops)
      select p_site_id, (v_now at time zone 'UTC')::date, d.reason, d.drops
      from (values ('quota', cardinality(v_refused)), ('duplicate', v_total - cardinality(v_refused) - cardinality(v_accepted))) d(reason, drops)
      where d.drops > 0;
    v_results := (
      select jsonb_agg(case when n = any (v_accepted) then 'accepted' when n = any (v_refused) then 'quota' else 'duplicate' end order by n)
      from generate_series(1, v_total) n);
  end if;
  return jsonb_build_object('results', v_results, 'used', v_used + cardinality(v_accepted), 'limit', v_plan.monthly_limit,
    'overage', coalesce(v_used + cardinality(v_accepted) > v_plan.monthly_limit, false));
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
    and not exists (select from public.ingest_idempotency x where x.site_id = p_site_id and x.eid = t.event ->> 'e')
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
