-- Batches of a worker: see queue_leases for those under way.

-- start_batch: rows were claimed and are about to be sent. Called by the claim, in its transaction,
-- so a dead worker's batch is always known.
create function private.start_batch(
  p_site_id uuid, p_provider_key text, p_batch_id uuid, p_pipeline text, p_claimed int
) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  insert into private.queue_leases as l (token, site_id, claimed_at, row_ids, provider_key,
      pipeline, claimed_count, started_in)
    values (p_batch_id, p_site_id, private.current_moment(), '{}', p_provider_key,
      p_pipeline, p_claimed, private.next_move_id())
    on conflict (token) do update   -- hand_out has made it
      set provider_key = excluded.provider_key, pipeline = excluded.pipeline,
          claimed_count = excluded.claimed_count, started_in = excluded.started_in;
end
$$;

-- finish_batch: records the outcome of a batch. The caller has taken hold_provider before anything
-- else.
--   Takes    p_batch {outcome success|transient|definite|none, credentialsVersion, durationMs?,
--            requestId?, errorCode?, errorCategory?, quotaUntil?, isQuotaShared?,
--            block? {code, message}, blockActions? [{conversionName, action?, code, message}]} and
--            how many rows went where. An action that the name no longer means is not blocked.
--   Writes   FINISHED, the metrics, the circuit, the quota's end, the block and blocked actions.
--   Safe     to repeat, and after recovery: only an open batch is finished. A block and a quota
--            count only while the credentials they were met with are the present ones.
--   Returns  whether this call finished it.
create function private.finish_batch(
  p_site_id uuid, p_batch_id uuid, p_batch jsonb, p_completed int, p_failed int, p_retry int
) returns boolean
language plpgsql security definer set search_path = '' set enable_seqscan = off   -- as end_leases
as $$
declare
  v_now timestamptz := private.current_moment();
  v_open private.queue_leases;
  v_is_current boolean;
begin
  select l.* into v_open from private.queue_leases l
    where l.token = p_batch_id and l.site_id = p_site_id and l.claimed_count is not null
    for update;
  if v_open.token is null then
    return false;
  end if;
  update private.queue_leases l set claimed_count = null where l.token = p_batch_id;
  perform private.end_leases(array[p_batch_id]);
  v_is_current := private.hold_provider(p_site_id, v_open.provider_key)
    = (p_batch ->> 'credentialsVersion')::int;
  insert into private.finished_batches (batch_id, site_id, provider_key, started_in, finished_in,
      started_at, finished_at, claimed_count, completed_count, failed_count, retry_count,
      duration_ms, provider_request_id, error_code, error_category)
    values (p_batch_id, p_site_id, v_open.provider_key, v_open.started_in, private.next_move_id(),
      v_open.claimed_at, v_now, v_open.claimed_count,
      coalesce(p_completed, 0), coalesce(p_failed, 0), coalesce(p_retry, 0),
      (p_batch ->> 'durationMs')::int, left(p_batch ->> 'requestId', 256),
      left(p_batch ->> 'errorCode', 64), p_batch ->> 'errorCategory');
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

-- end_dead_batches: finishes batches of workers that never answered as WORKER_LOST, and reopens the
-- circuits of probes whose lease has run out. The sweeps take care of their rows.
--   Safe     against a late answer: what is locked is left for the next sweep.
--   Returns  {ended, reopened}; at most 2,000 of each a call.
create function private.end_dead_batches(p_min_age interval) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_tokens uuid[];
  v_reopened int;
begin
  with dead as materialized (
    select l.token as batch_id, l.site_id, l.provider_key, l.claimed_count, l.claimed_at,
      l.started_in
    from private.queue_leases l
    where l.claimed_at <= v_now - p_min_age and l.claimed_count is not null
    order by l.claimed_at limit 2000 for update skip locked),
  closed as (
    update private.queue_leases l set claimed_count = null from dead d where l.token = d.batch_id),
  finished as (
    insert into private.finished_batches (batch_id, site_id, provider_key, started_in,
        finished_in, started_at, finished_at, claimed_count, completed_count, failed_count,
        retry_count, error_code, error_category)
      select d.batch_id, d.site_id, d.provider_key, d.started_in, private.next_move_id(),
        d.claimed_at, v_now, d.claimed_count, 0, 0, d.claimed_count, 'WORKER_LOST', 'TRANSIENT'
      from dead d),
  counted as (
    insert into private.upload_metric_deltas (site_id, provider_key, attempts, completed, failed,
        retry, at)
      select d.site_id, d.provider_key, d.claimed_count, 0, 0, d.claimed_count, v_now from dead d)
  select array_agg(d.batch_id) into v_tokens from dead d;
  perform private.end_leases(v_tokens);
  update public.provider_health_state h
    set state = 'OPEN', next_probe_at = private.next_probe(), probe_token = null,
        probe_until = null, updated_at = v_now
    from (select x.site_id, x.provider_key from public.provider_health_state x
          where x.state = 'HALF_OPEN' and x.probe_until <= v_now
          order by x.probe_until limit 2000 for update skip locked) t
    where h.site_id = t.site_id and h.provider_key = t.provider_key;
  get diagnostics v_reopened = row_count;
  return jsonb_build_object(
    'ended', coalesce(cardinality(v_tokens), 0), 'reopened', v_reopened);
end
$$;
