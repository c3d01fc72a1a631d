-- probe_lease: how long a probe may take. As long as a claim: the worker that holds it is presumed
-- dead after that.
create function private.probe_lease() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select private.stuck_after() $$;

-- next_probe: when an open circuit is tried again. The jitter keeps sites from probing together.
create function private.next_probe() returns timestamptz
language sql volatile set search_path = ''
as $$
  select private.current_moment() + interval '5 minutes' + random() * interval '60 seconds'
$$;

-- pass_gate: whether rows of the (site, provider) may be claimed now, and how many.
--   Takes    p_token: the claim's token, which becomes the probe's when this caller probes.
--   Moves    OPEN -> HALF_OPEN when the probe time has come: this caller probes, nobody else.
--            HALF_OPEN -> OPEN with a new probe time when the probe's lease has run out.
--   Safe     from many workers at once. While the circuit is closed, claims of seals share the lock
--            of the provider: connecting, blocking, switching and opening the circuit wait for
--            them, and they for it, but not for each other. Which caller may probe, and which one
--            claims signals, is decided by one at a time.
--   Returns  gate CLOSED (claim as many as you like), HALF_OPEN (you probe: at most probe_limit
--            rows), OPEN, BLOCKED, QUOTA (Google asked us to wait), NOT_CONNECTED (also archived
--            and unknown sites) or SCRIPT (claim nothing); with CLOSED and HALF_OPEN the
--            connection's version and transport.
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
  v_is_paused boolean;
  -- A look without a lock, since a shared one cannot become an exclusive one: two of them would
  -- wait for each other.
  v_is_shared boolean := p_pipeline = 'seals' and exists (
    select from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key and h.state = 'CLOSED');
begin
  if v_is_shared then
    perform pg_advisory_xact_lock_shared(private.provider_lock(p_site_id, p_provider_key));
  else
    perform private.hold_provider(p_site_id, p_provider_key);
  end if;
  select h.* into v_health from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key;
  -- Read after the lock: connecting, disconnecting, switching and pausing hold it.
  select s.oci_sync_method, private.is_paused(s) into v_method, v_is_paused from public.sites s
    where s.id = p_site_id and s.archived_at is null;
  select c.version, c.transport into credentials_version, transport
    from public.provider_credentials c
    where c.site_id = p_site_id and c.provider_key = p_provider_key;
  probe_limit := v_health.probe_limit;
  if v_health.state = 'HALF_OPEN' and v_health.probe_until <= v_now and not v_is_shared then
    perform private.reopen_circuit(p_site_id, p_provider_key);
    v_health.state := 'OPEN';
    v_health.next_probe_at := v_now + interval '5 minutes';   -- not due, whatever the jitter
  end if;
  gate := case
    when v_method = 'script' then 'SCRIPT'
    when v_method is null or credentials_version is null then 'NOT_CONNECTED'
    when v_is_paused then 'PAUSED'
    when v_health.blocked_at is not null then 'BLOCKED'
    when v_health.quota_until > v_now then 'QUOTA'
    when v_health.state = 'CLOSED' then 'CLOSED'
    when v_is_shared then 'OPEN'   -- it opened since the look: the next claim sees who probes
    when v_health.state = 'OPEN' and v_health.next_probe_at <= v_now then 'HALF_OPEN'
    else 'OPEN' end;
  if gate = 'HALF_OPEN' then
    update public.provider_health_state h
      set state = gate, updated_at = v_now, probe_token = p_token,
          probe_until = v_now + private.probe_lease()
      where h.site_id = p_site_id and h.provider_key = p_provider_key;
  end if;
  if gate in ('CLOSED', 'HALF_OPEN') then
    perform private.note_turn(p_site_id, p_provider_key, p_pipeline);
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

-- note_outcome: applies a batch's outcome to the provider's health.
--   Takes    p_outcome success, transient, definite (refused, but answered) or none (never asked);
--            p_batch: whose outcome it is. Null: it belongs to no batch and counts in every state.
--   Moves    CLOSED: success resets the count of failures; the fifth transient failure in a row
--            opens; definite answers do not count.
--            HALF_OPEN: only the probe's own outcome moves. An answer closes, anything else opens
--            again.
--            OPEN: a success that belongs to no batch closes. Batches that were claimed before the
--            circuit opened change nothing: nobody can say whether they came before the failures.
--   Safe     from many workers at once: the fifth failure opens once, and a failure after it does
--            not delay the probe.
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
  perform private.hold_provider(p_site_id, p_provider_key);
  select h.* into v_health from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key;
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
  return (
    select private.circuit_json(h.state, h.failure_count, h.next_probe_at)
    from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key);
end
$$;

-- circuit_json: a circuit as a screen shows it.
create function private.circuit_json(
  p_state text, p_failure_count int, p_next_probe_at timestamptz
) returns jsonb
language sql immutable set search_path = ''
as $$
  select jsonb_build_object(
    'state', p_state, 'failureCount', p_failure_count, 'nextProbeAt', p_next_probe_at)
$$;

-- record_provider_outcome: the same for the runbook and for tests, with the agreed arguments.
--   Takes    p_probe: as p_batch of note_outcome.
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
grant execute on function public.record_provider_outcome(uuid, text, boolean, boolean, uuid)
  to opsmantik_app, service_role;
