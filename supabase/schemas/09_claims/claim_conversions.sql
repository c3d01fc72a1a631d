-- claim_offline_conversion_rows_for_script_export: hand conversions to a site's Google Ads Script.
--   Moves    QUEUED/RETRY -> PROCESSING, of the given rows those that are this site's, due, not
--            held and have attempts left. Conversions only: a script cannot correct what Google
--            has.
--   Safe     from two scripts at once: skip locked gives each row to one of them.
--   Returns  {token, rows}: exactly the rows that were claimed.
--   Refuses  400 WRONG_SYNC_METHOD on a site that sends by API; 400 over 1,000 ids.
--   Callers  service role only.
create function public.claim_offline_conversion_rows_for_script_export(
  p_ids uuid[], p_site_id uuid, p_max_attempts int default private.max_attempts(),
  p_key_id uuid default null
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_token uuid := gen_random_uuid();
  v_name text;
  v_ids uuid[];
  v_sale_ids uuid[];
begin
  select private.conversion_name(s, 'seal') into v_name from public.sites s
    where s.id = p_site_id and s.oci_sync_method = 'script';
  if v_name is null then
    perform private.fail(400, 'WRONG_SYNC_METHOD');
  end if;
  if cardinality(p_ids) > 1000 then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "ids"}');
  end if;
  select array_agg(t.id), array_agg(t.sale_id) into v_ids, v_sale_ids from (
    select q.id, q.sale_id from public.offline_conversion_queue q
    where q.id = any (p_ids) and q.site_id = p_site_id
      and q.status = any (private.waiting_states()) and q.kind = 'CONVERSION'
      and q.not_before <= v_now and (q.next_retry_at is null or q.next_retry_at <= v_now)
      and q.click_expires_at > v_now
      and q.attempt_count - q.attempt_base < p_max_attempts
      and not exists (select from private.held_sales h
        where h.sale_id = q.sale_id and h.provider_key = q.provider_key)
    order by q.next_retry_at nulls first, q.created_at, q.id
    for update skip locked) t;
  perform private.act(('api_key', p_key_id)::private.actor, 'SCRIPT_EXPORT');
  return jsonb_build_object('token', v_token,
    'rows', private.hand_out(v_ids, v_sale_ids, null, v_token, v_name));
end
$$;
grant execute on function public.claim_offline_conversion_rows_for_script_export(
    uuid[], uuid, int, uuid)
  to opsmantik_app, service_role;

-- lock_due: lock up to p_limit rows of one (site, provider) that could be sent now, and give them
-- with their sales.
--   Takes    p_transport: the API that the site sends by; vias says which one takes each row.
--   Reads    them from idx_offline_conversion_queue_eligible_scan in order: first the never
--            deferred, then the due. Two scans, because one with "is null or <= now" would walk
--            every row that waits for later. Hashed or sorted, a claim of fifty would read every
--            sale there is.
--   Safe     from many workers at once: skip locked gives each row to one of them.
create function private.lock_due(
  p_site_id uuid, p_provider_key text, p_limit int, p_max_attempts int, p_transport text,
  out row_ids uuid[], out sale_ids uuid[], out vias text[]
)
language plpgsql security definer set search_path = ''
  set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  with fresh as materialized (
    select q.id, q.sale_id, q.adjusts_via from private.sendable_queue q
    where q.site_id = p_site_id and q.provider_key = p_provider_key and q.next_retry_at is null
      and q.attempt_count - q.attempt_base < p_max_attempts
    order by q.next_retry_at nulls first, q.created_at, q.id limit p_limit
    for update skip locked),
  due as materialized (
    select q.id, q.sale_id, q.adjusts_via from private.sendable_queue q
    where q.site_id = p_site_id and q.provider_key = p_provider_key and q.next_retry_at <= v_now
      and q.attempt_count - q.attempt_base < p_max_attempts
    order by q.next_retry_at nulls first, q.created_at, q.id
    limit p_limit - (select count(*) from fresh)
    for update skip locked)
  select array_agg(t.id), array_agg(t.sale_id),
      array_agg(case when t.adjusts_via = 'ads_api' then 'ads_api' else p_transport end)
    into row_ids, sale_ids, vias from (select * from fresh union all select * from due) t;
end
$$;

-- claim_offline_conversion_jobs_v2: lease up to p_limit due rows of one (site, provider) to a
-- worker.
--   Moves    QUEUED/RETRY -> PROCESSING, of the rows of sendable_queue.
--   Safe     from many workers at once: whether anything may be sent and who probes are decided
--            under the lock of the health row, and skip locked gives each row to one of them.
--   Writes   STARTED in the ledger of attempts, with the token as its batch. A probe that finds
--            nothing gives its lease back.
--   Returns  {token, gate, rows, batch: {credentialsVersion}}. The gate is CLOSED or HALF_OPEN (the
--            caller probes), or why there are no rows: OPEN, BLOCKED, NOT_CONNECTED, SCRIPT.
--            A row's `via` says which API takes it. At most 1,000 rows.
--   Callers  service role only.
create function public.claim_offline_conversion_jobs_v2(
  p_site_id uuid, p_provider_key text, p_limit int,
  p_max_attempts int default private.max_attempts()
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_token uuid := gen_random_uuid();
  v_gate record;
  v_name text;
  v_due record;
  v_rows jsonb := '[]';
begin
  select * into v_gate from private.pass_gate(p_site_id, p_provider_key, v_token);
  if v_gate.gate in ('CLOSED', 'HALF_OPEN') then
    select private.conversion_name(s, 'seal') into v_name
      from public.sites s where s.id = p_site_id;
    v_due := private.lock_due(p_site_id, p_provider_key,
      least(greatest(p_limit, 0), 1000,
        case v_gate.gate when 'HALF_OPEN' then v_gate.probe_limit end),
      p_max_attempts, v_gate.transport);
    perform private.act(('system', null)::private.actor, 'WORKER_CLAIM');
    v_rows := private.hand_out(v_due.row_ids, v_due.sale_ids, v_due.vias, v_token, v_name);
    if jsonb_array_length(v_rows) > 0 then
      perform private.start_batch(p_site_id, p_provider_key, v_token, 'seals',
        jsonb_array_length(v_rows));
    elsif v_gate.gate = 'HALF_OPEN' then
      perform private.return_probe(p_site_id, p_provider_key, v_token);
    end if;
  end if;
  return jsonb_build_object(
    'token', v_token,
    'gate', v_gate.gate,
    'rows', v_rows,
    'batch', jsonb_build_object('credentialsVersion', v_gate.credentials_version));
end
$$;
grant execute on function public.claim_offline_conversion_jobs_v2(uuid, text, int, int)
  to opsmantik_app, service_role;
