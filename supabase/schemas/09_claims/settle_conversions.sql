-- settle_offline_conversion_jobs: what the provider said of a worker's rows of one site.
--   Takes    p_token: the claim under which they were handed out.
--            p_results [{id, outcome COMPLETED|RETRY|FAILED, transport?, requestId?, recordIndex?,
--            verdict?, code?, category?, message?, retryAt?, free?, byHand?}]
--            p_batch: finish_batch's, with provider, firstPollSeconds? and customerId?, the account
--            that it went to. Null: nothing is known of the batch, and recovery ends it.
--   Moves    to COMPLETED from anything but COMPLETED, if the row was ever claimed by p_token: a
--            success is a success, however late. To RETRY or FAILED only while p_token holds it.
--            A refusal of access does not count for newer credentials: such rows are tried again,
--            and nothing is blocked. A quota does not either: its rows wait as after any failure.
--            The same holds if the site switched to its script since.
--   Safe     to repeat: what was settled is not settled again. Rows of another site are neither
--            changed nor revealed.
--   Returns  {completed, retried, failed, stale}: stale results met a row that somebody else has
--            moved since, or that p_token never held.
--   Refuses  400 VALIDATION_FAILED without a token.
--   Callers  service role only.
create function public.settle_offline_conversion_jobs(
  p_site_id uuid, p_token uuid, p_results jsonb, p_transport text default 'data_manager',
  p_max_attempts int default private.max_attempts(), p_batch jsonb default null
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_results jsonb := p_results;
  v_ids uuid[] := private.of_this_site(p_site_id,
    array(select (r ->> 'id')::uuid from jsonb_array_elements(p_results) r));
  v_completed int;
  v_ended jsonb := '{"retried": 0, "failed": 0}';
  v_retried int;
  v_failed int;
  v_before int;   -- what settle_and_claim_conversion_jobs settled of the batch
begin
  if p_token is null then   -- below, null is any claim
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "token"}');
  end if;
  -- Always before the sales: a new connection holds it while it requeues rows that were refused
  -- access.
  if p_batch is not null and (private.hold_provider(p_site_id, p_batch ->> 'provider')
        is distinct from (p_batch ->> 'credentialsVersion')::int
      or exists (select from public.sites s
        where s.id = p_site_id and s.oci_sync_method = 'script')) then
    select coalesce(jsonb_agg(case
        when r ->> 'category' = 'AUTH' and r ->> 'outcome' = 'FAILED' and not r ? 'byHand'
        then r || '{"outcome": "RETRY", "category": "TRANSIENT", "free": true}'
        when r ->> 'category' = 'RATE_LIMIT' then r - 'retryAt' else r end), '[]')
      into v_results from jsonb_array_elements(p_results) r;
  end if;
  perform private.lock_sales_of(v_ids);
  select count(*) into v_before from private.queue_delivered q
    where q.id = any (v_ids) and p_token = any (q.claims);
  if jsonb_typeof(p_batch -> 'blockActions') = 'array' then   -- before a row forgets its action
    p_batch := private.with_refused_actions(p_batch, (
      select jsonb_agg(jsonb_build_object('conversionName', q.conversion_name,
        'action', q.conversion_action, 'code', coalesce(r.code, 'UNKNOWN')))
      from jsonb_to_recordset(v_results) r (id uuid, outcome text, code text)
        join public.offline_conversion_queue q on q.id = r.id
      where r.outcome = 'FAILED' and q.id = any (v_ids)));
  end if;
  perform private.act(('system', null)::private.actor, 'WORKER_SETTLE');
  select private.complete_rows(p_site_id, coalesce(jsonb_agg(r), '[]'), p_transport, p_token,
      (p_batch ->> 'firstPollSeconds')::int, left(p_batch ->> 'customerId', 20))
    into v_completed
    from jsonb_array_elements(v_results) r
    where r ->> 'outcome' = 'COMPLETED' and (r ->> 'id')::uuid = any (v_ids);
  if exists (
      select from jsonb_array_elements(v_results) r where r ->> 'outcome' <> 'COMPLETED') then
    v_ended := private.end_claims(p_token, (
      select coalesce(jsonb_agg(r), '[]') from jsonb_array_elements(v_results) r
      where r ->> 'outcome' <> 'COMPLETED' and (r ->> 'id')::uuid = any (v_ids)), p_max_attempts);
  end if;
  perform private.end_leases(array[p_token]);
  v_retried := (v_ended ->> 'retried')::int;
  v_failed := (v_ended ->> 'failed')::int;
  if p_batch is not null then
    perform private.finish_batch(p_site_id, p_token, p_batch,
      v_completed + v_before, v_failed, v_retried);
  end if;
  return jsonb_build_object(
    'completed', v_completed,
    'retried', v_retried,
    'failed', v_failed,
    'stale', jsonb_array_length(p_results) - v_completed - v_retried - v_failed);
end
$$;
grant execute on function public.settle_offline_conversion_jobs(uuid, uuid, jsonb, text, int, jsonb)
  to opsmantik_app, service_role;
