-- Providers: how a site's API delivery stands. The credentials, the circuit, the block, the ledger
-- of attempts and its counters. provider_key is the ad platform; a site has one connection to it.
-- Locks: the health row of the (site, provider) first, then sales by id, then queue rows. Whoever
-- holds a sale already never waits for a health row: it takes hold_provider before the sales.

-- The credentials, encrypted by lib/vault before they get here. Disconnecting deletes the line.
create table public.provider_credentials (
  site_id uuid not null references public.sites (id),
  provider_key text not null,
  version int not null,                            -- grows: see new_version
  transport text not null,
  key_id text not null,                            -- which vault key sealed it
  sealed text not null,                            -- base64; never leaves through the session door
  account jsonb not null default '{}',             -- what may be shown: no secret
  connected_by uuid,                               -- null: a service connected it
  connected_at timestamptz not null,
  tested_at timestamptz,                           -- the last test that passed
  test_error jsonb,                                -- of a later test that did not
  primary key (site_id, provider_key),
  constraint provider_is_known check (provider_key = 'google_ads'),
  constraint api_transport_is_known check (transport in ('data_manager', 'ads_api')),
  constraint sealed_is_base64
    check (char_length(sealed) between 16 and 16384 and sealed ~ '^[A-Za-z0-9+/]+={0,2}$'),
  constraint key_id_is_plain_text check (private.is_plain_text(key_id, 64)),
  constraint account_is_bounded
    check (jsonb_typeof(account) = 'object' and char_length(account::text) <= 2000),
  constraint test_error_is_bounded check (char_length(test_error::text) <= 4000)
);
create index credentials_by_vault_key
  on public.provider_credentials (key_id, site_id, provider_key);

-- Which conversion action at Google a conversion's name means. A name that rows were sent under
-- keeps its line when the settings change.
create table public.provider_conversion_actions (
  site_id uuid not null references public.sites (id),
  provider_key text not null,
  conversion_name text not null,
  action text not null,
  google_name text,                                -- what Google calls the action, where it told us
  counting_type text,
  blocked_at timestamptz,
  blocked_code text,
  blocked_message text,
  tested_at timestamptz,
  updated_at timestamptz not null,
  primary key (site_id, provider_key, conversion_name),
  constraint action_name_is_plain_text check (private.is_plain_text(conversion_name, 100)),
  constraint action_is_a_resource_name
    check (action ~ '^customers/[0-9]{1,20}/conversionActions/[0-9]{1,20}$'),
  constraint counting_type_is_plain_text
    check (counting_type is null or private.is_plain_text(counting_type, 40)),
  constraint google_name_is_bounded check (char_length(google_name) <= 256),
  constraint blocked_actions_say_why check (
    num_nonnulls(blocked_at, blocked_code) in (0, 2)
    and (blocked_message is null or blocked_at is not null)),
  constraint action_block_is_bounded
    check (char_length(blocked_code) <= 64 and char_length(blocked_message) <= 1024)
);

-- What Google called the actions that were chosen, also after another was: rows keep theirs.
create table private.action_names (
  site_id uuid not null references public.sites (id),
  action text not null,
  google_name text not null,
  primary key (site_id, action)
);

-- The circuit and the block of a (site, provider). They are separate: the circuit opens when the
-- provider is ill and closes by itself, the block waits for a person.
create table public.provider_health_state (
  site_id uuid not null references public.sites (id),
  provider_key text not null,
  connection_id uuid not null default private.uuid_v7(),   -- the connection in proofs
  last_version int not null default 0,             -- of the credentials, also after they are gone
  state text not null default 'CLOSED',
  failure_count int not null default 0,            -- transient failures in a row
  next_probe_at timestamptz,
  probe_limit int not null default 5,
  probe_token uuid,                                -- the batch that probes
  probe_until timestamptz,                         -- when it is presumed dead
  blocked_at timestamptz,
  blocked_code text,
  blocked_message text,
  quota_until timestamptz,                         -- how long Google asked us to wait
  last_success_at timestamptz,
  last_failure_at timestamptz,
  last_failure_code text,
  served_at timestamptz,                           -- the last claim of seals
  signals_served_at timestamptz,                   -- and of signals
  updated_at timestamptz not null,
  primary key (site_id, provider_key),
  constraint circuit_state_is_known check (state in ('CLOSED', 'OPEN', 'HALF_OPEN')),
  constraint five_failures_open_the_circuit
    check (failure_count >= 0 and (state = 'CLOSED') = (failure_count < 5)),
  constraint open_circuits_have_a_probe_time check ((state = 'CLOSED') = (next_probe_at is null)),
  constraint half_open_circuits_have_one_probe check (
    num_nonnulls(probe_token, probe_until) = case state when 'HALF_OPEN' then 2 else 0 end),
  constraint probe_limit_is_bounded check (probe_limit between 1 and 100),
  constraint blocks_say_why check (
    num_nonnulls(blocked_at, blocked_code) in (0, 2)
    and (blocked_message is null or blocked_at is not null)),
  constraint health_text_is_bounded check (char_length(blocked_code) <= 64
    and char_length(blocked_message) <= 1024 and char_length(last_failure_code) <= 64),
  constraint version_only_grows check (last_version >= 0)
);
create index half_open_circuits on public.provider_health_state (probe_until)
  where state = 'HALF_OPEN';

-- The ledger of attempts: one STARTED and one FINISHED line per batch. No secret, no person.
create table public.provider_upload_attempts (
  id bigint generated always as identity primary key,
  site_id uuid not null,
  provider_key text not null,
  batch_id uuid not null,                          -- the claim's token
  phase text not null,
  claimed_count int,
  completed_count int,
  failed_count int,
  retry_count int,
  duration_ms int,
  provider_request_id text,
  error_code text,
  error_category text,
  created_at timestamptz not null,
  constraint one_line_per_batch_and_phase unique (batch_id, phase),
  constraint started_lines_count_the_claimed check (phase <> 'STARTED'
    or (coalesce(claimed_count, -1) >= 0 and num_nonnulls(completed_count, failed_count,
      retry_count, duration_ms, provider_request_id, error_code, error_category) = 0)),
  constraint finished_lines_count_the_outcomes check (phase <> 'FINISHED'
    or (claimed_count is null and least(coalesce(completed_count, -1), coalesce(failed_count, -1),
      coalesce(retry_count, -1), duration_ms) >= 0)),
  constraint phase_is_known check (phase in ('STARTED', 'FINISHED')),
  constraint attempt_category_is_known
    check (error_category in ('VALIDATION', 'AUTH', 'TRANSIENT', 'RATE_LIMIT')),
  constraint attempt_text_is_bounded
    check (char_length(provider_request_id) <= 256 and char_length(error_code) <= 64)
);
create index attempts_of_a_provider
  on public.provider_upload_attempts (site_id, provider_key, created_at desc);
create index attempts_of_a_batch on public.provider_upload_attempts (batch_id);

-- What was STARTED and not FINISHED: the ledger is append-only and grows, this stays small.
create table private.open_upload_batches (
  batch_id uuid primary key,
  site_id uuid not null,
  provider_key text not null,
  pipeline text not null,
  claimed_count int not null,
  started_at timestamptz not null,
  constraint pipeline_is_known check (pipeline in ('seals', 'signals'))
);
create index open_batches_by_age on private.open_upload_batches (started_at);

-- Rows that were tried, and what became of each try. Deferrals are no tries.
create table public.provider_upload_metrics (
  site_id uuid not null references public.sites (id),
  provider_key text not null,
  attempts_total bigint not null default 0,
  completed_total bigint not null default 0,
  failed_total bigint not null default 0,
  retry_total bigint not null default 0,
  updated_at timestamptz not null,
  primary key (site_id, provider_key),
  constraint metrics_only_grow check (least(attempts_total, completed_total, failed_total,
    retry_total) >= 0)
);

-- Accepted Data Manager requests, whose verdicts are polled.
create table public.provider_requests (
  site_id uuid not null,
  request_id text not null,
  provider_key text not null,
  pipeline text not null,
  row_count int not null,
  customer_id text,                                -- of the account that sent it, where known
  sent_at timestamptz not null,
  next_poll_at timestamptz,
  poll_count int not null default 0,
  finished_at timestamptz,
  status text,
  primary key (site_id, request_id),
  constraint request_id_is_bounded check (char_length(request_id) between 1 and 256),
  constraint request_pipeline_is_known check (pipeline in ('seals', 'signals')),
  constraint request_counts_are_not_negative check (row_count >= 0 and poll_count >= 0),
  constraint request_status_is_known
    check (status in ('PROCESSING', 'SUCCESS', 'PARTIAL_SUCCESS', 'FAILED', 'LOST'))
);
create index requests_to_poll on public.provider_requests (next_poll_at)
  where finished_at is null;

alter table public.provider_credentials enable row level security;
alter table public.provider_conversion_actions enable row level security;
alter table public.provider_health_state enable row level security;
alter table public.provider_upload_attempts enable row level security;
alter table private.action_names enable row level security;
alter table private.open_upload_batches enable row level security;
alter table public.provider_upload_metrics enable row level security;
alter table public.provider_requests enable row level security;

create trigger attempts_are_permanent before update or delete on public.provider_upload_attempts
  for each row execute function private.refuse_change();
create trigger attempts_are_never_truncated before truncate on public.provider_upload_attempts
  for each statement execute function private.refuse_change();

-- probe_lease: how long a probe may take. As long as a claim: the worker that holds it is presumed
-- dead after that.
create function private.probe_lease() returns interval
language sql immutable set search_path = ''
as $$ select interval '15 minutes' $$;

-- next_probe: when an open circuit is tried again. The jitter keeps sites from probing together.
create function private.next_probe() returns timestamptz
language sql volatile set search_path = ''
as $$
  select private.current_moment() + interval '5 minutes' + random() * interval '60 seconds'
$$;

-- hold_provider: lock the (site, provider) until the transaction ends. Before sales, always.
--   Returns  the version of its credentials; null when it is not connected. Nobody changes them
--            while the lock is held, so an answer made with another version is known to be old.
create function private.hold_provider(p_site_id uuid, p_provider_key text) returns int
language plpgsql security definer set search_path = ''
as $$
begin
  perform from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key for update;
  return (select c.version from public.provider_credentials c
          where c.site_id = p_site_id and c.provider_key = p_provider_key);
end
$$;

-- pass_gate: whether rows of the (site, provider) may be claimed now, and by how much.
--   Takes    p_token: the claim's token, which becomes the probe's when this caller probes.
--   Moves    OPEN -> HALF_OPEN when the probe time has come: this caller probes, nobody else.
--            HALF_OPEN -> OPEN with a new probe time when the probe's lease has run out.
--   Safe     from many workers at once: the health row is locked, and a claim is decided and made
--            under that lock.
--   Returns  gate CLOSED (claim as many as you like), HALF_OPEN (you probe: at most probe_limit
--            rows), OPEN, BLOCKED, QUOTA (Google asked us to wait), NOT_CONNECTED (also archived
--            and unknown sites) or SCRIPT (claim nothing); with CLOSED and HALF_OPEN the connection's version and transport.
create function private.pass_gate(
  p_site_id uuid, p_provider_key text, p_token uuid, p_pipeline text default 'seals',
  out gate text, out probe_limit int, out credentials_version int, out transport text
)
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_health public.provider_health_state;
  v_method text;
begin
  select h.* into v_health from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key for update;
  -- Read after the lock: connecting, disconnecting and switching hold it.
  select s.oci_sync_method into v_method from public.sites s
    where s.id = p_site_id and s.archived_at is null;
  select c.version, c.transport into credentials_version, transport
    from public.provider_credentials c
    where c.site_id = p_site_id and c.provider_key = p_provider_key;
  probe_limit := v_health.probe_limit;
  if v_health.state = 'HALF_OPEN' and v_health.probe_until <= v_now then
    perform private.reopen_circuit(p_site_id, p_provider_key);
    v_health.state := 'OPEN';
    v_health.next_probe_at := v_now + interval '5 minutes';   -- not due, whatever the jitter
  end if;
  gate := case
    when v_method = 'script' then 'SCRIPT'
    when v_method is null or credentials_version is null then 'NOT_CONNECTED'
    when v_health.blocked_at is not null then 'BLOCKED'
    when v_health.quota_until > v_now then 'QUOTA'
    when v_health.state = 'CLOSED' then 'CLOSED'
    when v_health.state = 'OPEN' and v_health.next_probe_at <= v_now then 'HALF_OPEN'
    else 'OPEN' end;
  if gate in ('CLOSED', 'HALF_OPEN') then
    update public.provider_health_state h
      set state = gate, updated_at = v_now,
          probe_token = case gate when 'HALF_OPEN' then p_token end,
          probe_until = case gate when 'HALF_OPEN' then v_now + private.probe_lease() end,
          served_at = case p_pipeline when 'seals' then v_now else h.served_at end,
          signals_served_at =
            case p_pipeline when 'signals' then v_now else h.signals_served_at end
      where h.site_id = p_site_id and h.provider_key = p_provider_key;
  end if;
end
$$;

-- reopen_circuit: HALF_OPEN -> OPEN with a new probe time. Called with the health row locked.
create function private.reopen_circuit(p_site_id uuid, p_provider_key text) returns void
language sql security definer set search_path = ''
as $$
  update public.provider_health_state h
    set state = 'OPEN', next_probe_at = private.next_probe(), probe_token = null,
        probe_until = null, updated_at = private.current_moment()
    where h.site_id = p_site_id and h.provider_key = p_provider_key and h.state = 'HALF_OPEN'
$$;

-- return_probe: the probe found nothing to send. HALF_OPEN -> OPEN, still due, so that the next
-- claim with rows probes.
create function private.return_probe(p_site_id uuid, p_provider_key text, p_token uuid)
returns void
language sql security definer set search_path = ''
as $$
  update public.provider_health_state h
    set state = 'OPEN', probe_token = null, probe_until = null,
        updated_at = private.current_moment()
    where h.site_id = p_site_id and h.provider_key = p_provider_key and h.probe_token = p_token
$$;

-- note_outcome: what a batch says of the provider's health.
--   Takes    p_outcome success, transient, definite (refused, but answered) or none (never asked);
--            p_batch: whose outcome it is. Null: whoever may decide now.
--   Moves    CLOSED: success forgets the failures before it; the fifth transient failure in a row
--            opens; definite answers count for nothing.
--            HALF_OPEN: only the probe's own outcome moves. An answer closes, anything else opens
--            again.
--            OPEN: a success that belongs to no batch closes. Batches that were claimed before the
--            circuit opened change nothing: nobody can say whether they came before the failures.
--   Safe     from many workers at once: the fifth failure opens once, and a failure after it does
--            not push the probe away.
--   Returns  {state, failureCount, nextProbeAt}, or null for a (site, provider) never connected.
create function private.note_outcome(
  p_site_id uuid, p_provider_key text, p_outcome text, p_batch uuid, p_code text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_health public.provider_health_state;
  v_is_mine boolean;
begin
  select h.* into v_health from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key for update;
  v_is_mine := p_batch is null or p_batch = v_health.probe_token;
  update public.provider_health_state h
    set last_success_at = case p_outcome when 'success' then v_now else h.last_success_at end,
        last_failure_at = case p_outcome when 'transient' then v_now else h.last_failure_at end,
        last_failure_code = case p_outcome when 'transient' then left(p_code, 64)
          else h.last_failure_code end,
        updated_at = v_now
    where h.site_id = p_site_id and h.provider_key = p_provider_key;
  if v_health.state = 'HALF_OPEN' and v_is_mine and p_outcome in ('transient', 'none') then
    update public.provider_health_state h
      set failure_count = h.failure_count + (p_outcome = 'transient')::int
      where h.site_id = p_site_id and h.provider_key = p_provider_key;
    perform private.reopen_circuit(p_site_id, p_provider_key);
  elsif v_health.state = 'HALF_OPEN' and v_is_mine
     or p_outcome = 'success'
       and (v_health.state = 'CLOSED' or v_health.state = 'OPEN' and p_batch is null) then
    update public.provider_health_state h
      set state = 'CLOSED', failure_count = 0, next_probe_at = null, probe_token = null,
          probe_until = null
      where h.site_id = p_site_id and h.provider_key = p_provider_key;
  elsif v_health.state = 'CLOSED' and p_outcome = 'transient' then
    update public.provider_health_state h
      set failure_count = h.failure_count + 1,
          state = case when h.failure_count + 1 >= 5 then 'OPEN' else 'CLOSED' end,
          next_probe_at = case when h.failure_count + 1 >= 5 then private.next_probe() end
      where h.site_id = p_site_id and h.provider_key = p_provider_key;
  end if;
  return (select jsonb_build_object('state', h.state, 'failureCount', h.failure_count,
            'nextProbeAt', h.next_probe_at)
          from public.provider_health_state h
          where h.site_id = p_site_id and h.provider_key = p_provider_key);
end
$$;

-- record_provider_outcome: the same for the runbook and for tests, with the seed's arguments.
--   Takes    p_probe: the batch whose outcome it is; null: whoever may decide now.
--   Returns  {state, failureCount, nextProbeAt}, or null for a (site, provider) never connected.
--   Callers  service role only.
create function public.record_provider_outcome(
  p_site_id uuid, p_provider_key text, p_success boolean, p_transient boolean,
  p_probe uuid default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.note_outcome(p_site_id, p_provider_key,
    case when p_success then 'success' when p_transient then 'transient' else 'definite' end,
    p_probe, null)
$$;

-- increment_provider_upload_metrics: add to a (site, provider)'s counters.
--   Refuses  400 VALIDATION_FAILED for a negative number.
--   Callers  service role only.
create function public.increment_provider_upload_metrics(
  p_site_id uuid, p_provider_key text, p_attempts int, p_completed int, p_failed int, p_retry int
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  if least(p_attempts, p_completed, p_failed, p_retry) < 0 then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "counts"}');
  end if;
  insert into public.provider_upload_metrics as m (site_id, provider_key, attempts_total,
      completed_total, failed_total, retry_total, updated_at)
    values (p_site_id, p_provider_key, coalesce(p_attempts, 0), coalesce(p_completed, 0),
      coalesce(p_failed, 0), coalesce(p_retry, 0), private.current_moment())
    on conflict (site_id, provider_key) do update
      set attempts_total = m.attempts_total + excluded.attempts_total,
          completed_total = m.completed_total + excluded.completed_total,
          failed_total = m.failed_total + excluded.failed_total,
          retry_total = m.retry_total + excluded.retry_total,
          updated_at = excluded.updated_at;
  return jsonb_build_object('ok', true);
end
$$;

-- start_batch: rows were claimed and are about to be sent. Called by the claim, in its transaction,
-- so a dead worker's batch is always known.
create function private.start_batch(
  p_site_id uuid, p_provider_key text, p_batch_id uuid, p_pipeline text, p_claimed int
) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  insert into public.provider_upload_attempts (site_id, provider_key, batch_id, phase,
      claimed_count, created_at)
    values (p_site_id, p_provider_key, p_batch_id, 'STARTED', p_claimed, private.current_moment());
  insert into private.open_upload_batches (batch_id, site_id, provider_key, pipeline,
      claimed_count, started_at)
    values (p_batch_id, p_site_id, p_provider_key, p_pipeline, p_claimed,
      private.current_moment());
end
$$;

-- note_quota: Google asked us to wait. The site's health row is locked.
--   Writes   quota_until of the site; with p_is_shared also of every site that comes with the same
--            OAuth client (known by the end of its id): the quota is the client's, and asking for
--            each site would spend an attempt of its rows.
--   Safe     beside other batches: a site whose health row is locked is passed over, as whoever
--            holds it is about to be told the same.
create function private.note_quota(
  p_site_id uuid, p_provider_key text, p_until timestamptz, p_is_shared boolean
) returns void
language sql security definer set search_path = ''
as $$
  with waiting as (
    select h.site_id from public.provider_health_state h
    where h.provider_key = p_provider_key and (h.site_id = p_site_id or (p_is_shared
      and h.site_id in (
        select c.site_id from public.provider_credentials c
          join public.provider_credentials own
            on own.site_id = p_site_id and own.provider_key = p_provider_key
              and own.account ->> 'clientIdTail' = c.account ->> 'clientIdTail'
        where c.provider_key = p_provider_key)))
    for update skip locked)
  update public.provider_health_state h
    set quota_until = greatest(h.quota_until, p_until), updated_at = private.current_moment()
    from waiting w
    where h.site_id = w.site_id and h.provider_key = p_provider_key
$$;

-- finish_batch: what became of a batch. The caller has taken hold_provider before anything else.
--   Takes    p_batch {outcome success|transient|definite|none, credentialsVersion, durationMs?,
--            requestId?, errorCode?, errorCategory?, quotaUntil?, isQuotaShared?, block? {code, message},
--            blockActions? [{conversionName, action?, code, message}]} and how many rows went
--            where. An action that the name no longer means is not blocked.
--   Writes   FINISHED, the metrics, the circuit, the quota's end, the block and blocked actions.
--   Safe     to repeat, and after recovery: only an open batch is finished. A block and a quota
--            count only while the credentials they were met with are the present ones.
--   Returns  whether this call finished it.
create function private.finish_batch(
  p_site_id uuid, p_batch_id uuid, p_batch jsonb, p_completed int, p_failed int, p_retry int
) returns boolean
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_open private.open_upload_batches;
  v_is_current boolean;
begin
  delete from private.open_upload_batches o
    where o.batch_id = p_batch_id and o.site_id = p_site_id returning o.* into v_open;
  if v_open.batch_id is null then
    return false;
  end if;
  v_is_current := private.hold_provider(p_site_id, v_open.provider_key)
    = (p_batch ->> 'credentialsVersion')::int;
  insert into public.provider_upload_attempts (site_id, provider_key, batch_id, phase,
      completed_count, failed_count, retry_count, duration_ms, provider_request_id, error_code,
      error_category, created_at)
    values (p_site_id, v_open.provider_key, p_batch_id, 'FINISHED',
      coalesce(p_completed, 0), coalesce(p_failed, 0), coalesce(p_retry, 0),
      (p_batch ->> 'durationMs')::int, left(p_batch ->> 'requestId', 256),
      left(p_batch ->> 'errorCode', 64), p_batch ->> 'errorCategory', v_now);
  perform public.increment_provider_upload_metrics(p_site_id, v_open.provider_key,
    coalesce(p_completed, 0) + coalesce(p_failed, 0) + coalesce(p_retry, 0),
    p_completed, p_failed, p_retry);
  perform private.note_outcome(p_site_id, v_open.provider_key,
    coalesce(p_batch ->> 'outcome', 'none'), p_batch_id, p_batch ->> 'errorCode');
  if v_is_current and p_batch ->> 'quotaUntil' is not null then
    perform private.note_quota(p_site_id, v_open.provider_key,
      (p_batch ->> 'quotaUntil')::timestamptz, (p_batch ->> 'isQuotaShared')::boolean);
  end if;
  if v_is_current and jsonb_typeof(p_batch -> 'block') = 'object' then
    perform private.block_connection(p_site_id, v_open.provider_key,
      p_batch #>> '{block,code}', p_batch #>> '{block,message}');
  end if;
  if v_is_current and jsonb_typeof(p_batch -> 'blockActions') = 'array' then
    update public.provider_conversion_actions a
      set blocked_at = coalesce(a.blocked_at, v_now), blocked_code = left(b.code, 64),
          blocked_message = left(b.message, 1024), updated_at = v_now
      from jsonb_to_recordset(p_batch -> 'blockActions')
        b ("conversionName" text, action text, code text, message text)
      where a.site_id = p_site_id and a.provider_key = v_open.provider_key
        and a.conversion_name = b."conversionName" and b.code is not null
        and (b.action is null or a.action = b.action);
  end if;
  return true;
end
$$;

-- with_refused_actions: a batch's facts, with the actions that were refused beside their names. A
-- row keeps the action of its first hand-out, which the name may no longer mean.
--   Takes    p_refused [{conversionName, action, code}] of the batch's rows that failed.
create function private.with_refused_actions(p_batch jsonb, p_refused jsonb) returns jsonb
language sql immutable security definer set search_path = ''
as $$
  select p_batch || jsonb_build_object('blockActions', (
    select coalesce(jsonb_agg(distinct
      b || jsonb_strip_nulls(jsonb_build_object('action', r.action))), '[]')
    from jsonb_array_elements(p_batch -> 'blockActions') b
      left join jsonb_to_recordset(p_refused) r ("conversionName" text, action text, code text)
        on r."conversionName" = b ->> 'conversionName' and r.code = b ->> 'code'))
$$;

-- block_connection: nothing more is sent until somebody fixes it. The first cause stays.
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

-- record_deferral: rows were let wait without asking the provider. Both lines of the ledger, no
-- try in the metrics, nothing about the provider's health.
create function private.record_deferral(
  p_site_id uuid, p_provider_key text, p_count int, p_code text
) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_batch uuid := gen_random_uuid();
begin
  insert into public.provider_upload_attempts (site_id, provider_key, batch_id, phase,
      claimed_count, completed_count, failed_count, retry_count, error_code, error_category,
      created_at)
    values
      (p_site_id, p_provider_key, v_batch, 'STARTED', p_count, null, null, null, null, null,
        private.current_moment()),
      (p_site_id, p_provider_key, v_batch, 'FINISHED', null, 0, 0, p_count, left(p_code, 64),
        'TRANSIENT', private.current_moment());
end
$$;

-- end_dead_batches: batches of workers that never answered are finished as WORKER_LOST, and probes
-- whose lease has run out open their circuit again. Their rows are the sweeps' work.
--   Safe     against a late answer: whatever somebody holds is left for the next sweep.
--   Returns  {ended, reopened}; at most 2,000 of each a call.
create function private.end_dead_batches(p_min_age interval) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_ended int;
  v_reopened int;
begin
  with dead as (
    delete from private.open_upload_batches o
      where o.batch_id = any (array(
        select x.batch_id from private.open_upload_batches x
        where x.started_at <= v_now - p_min_age
        order by x.started_at limit 2000 for update skip locked))
      returning o.*),
  finished as (
    insert into public.provider_upload_attempts (site_id, provider_key, batch_id, phase,
        completed_count, failed_count, retry_count, error_code, error_category, created_at)
      select d.site_id, d.provider_key, d.batch_id, 'FINISHED', 0, 0, d.claimed_count,
        'WORKER_LOST', 'TRANSIENT', v_now
      from dead d),
  counted as (
    insert into public.provider_upload_metrics as m (site_id, provider_key, attempts_total,
        retry_total, updated_at)
      select d.site_id, d.provider_key, sum(d.claimed_count), sum(d.claimed_count), v_now
      from dead d group by 1, 2 order by 1, 2
      on conflict (site_id, provider_key) do update
        set attempts_total = m.attempts_total + excluded.attempts_total,
            retry_total = m.retry_total + excluded.retry_total, updated_at = excluded.updated_at)
  select count(*) into v_ended from dead;
  update public.provider_health_state h
    set state = 'OPEN', next_probe_at = private.next_probe(), probe_token = null,
        probe_until = null, updated_at = v_now
    from (select x.site_id, x.provider_key from public.provider_health_state x
          where x.state = 'HALF_OPEN' and x.probe_until <= v_now
          order by x.probe_until limit 2000 for update skip locked) t
    where h.site_id = t.site_id and h.provider_key = t.provider_key;
  get diagnostics v_reopened = row_count;
  return jsonb_build_object('ended', v_ended, 'reopened', v_reopened);
end
$$;

grant execute on function
  public.record_provider_outcome(uuid, text, boolean, boolean, uuid),
  public.increment_provider_upload_metrics(uuid, text, int, int, int, int)
to opsmantik_app, service_role;
