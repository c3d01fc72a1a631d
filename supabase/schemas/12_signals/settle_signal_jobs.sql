-- settle_marketing_signal_jobs: records what the provider answered for a worker's signals of a
-- site.
--   Takes    p_results and p_batch as settle_offline_conversion_jobs takes them.
--   Moves    to SENT from anything but SENT, of signals that were ever claimed: a success counts,
--            however late. PROCESSING -> PENDING with a time for the next try, or FAILED, only
--            while p_token holds the signal. A call that came to nothing meanwhile ends its signal.
--            AUTH met with credentials that were replaced since, or before the site switched to its
--            script, is tried again without spending an attempt; a time that the quota of such
--            credentials named does not hold.
--   Safe     to repeat: a settled signal is not settled again. Signals of another site are neither
--            changed nor revealed.
--   Returns  {completed, retried, failed, stale}.
--   Refuses  400 VALIDATION_FAILED without a token.
--   Callers  service role only.
create function public.settle_marketing_signal_jobs(
  p_site_id uuid, p_token uuid, p_results jsonb, p_batch jsonb default null,
  p_max_attempts int default private.max_attempts()
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_provider text := coalesce(p_batch ->> 'provider', 'google_ads');
  v_is_old boolean := coalesce(private.hold_provider(p_site_id, v_provider)
    <> (p_batch ->> 'credentialsVersion')::int, p_batch is not null)
    or exists (select from public.sites s
      where s.id = p_site_id and s.oci_sync_method = 'script');
  v_completed int;
  v_retried int;
  v_failed int;
begin
  if p_token is null then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "token"}');
  end if;
  perform from public.marketing_signals g
    where g.site_id = p_site_id
      and g.id in (select (r ->> 'id')::uuid from jsonb_array_elements(p_results) r)
    order by g.id for update;
  if jsonb_typeof(p_batch -> 'blockActions') = 'array' then   -- before a signal forgets its action
    p_batch := private.with_refused_actions(p_batch, (
      select jsonb_agg(jsonb_build_object('conversionName', g.conversion_name,
        'action', g.conversion_action, 'code', coalesce(r.code, 'UNKNOWN')))
      from jsonb_to_recordset(p_results) r (id uuid, outcome text, code text)
        join public.marketing_signals g on g.id = r.id and g.site_id = p_site_id
      where r.outcome = 'FAILED'));
  end if;
  update public.marketing_signals g
    set dispatch_status = 'SENT', google_sent_at = v_now,
        transport = coalesce(r.transport, 'data_manager'), claim_token = null, claimed_at = null,
        next_retry_at = null, last_error = null, provider_error_code = null,
        provider_error_category = null, provider_request_id = left(r."requestId", 256),
        record_index = r."recordIndex", verdict = r.verdict,
        may_have_arrived = g.may_have_arrived and g.attempt_count > 1,
        verdict_at = case when r.verdict is not null then v_now end, updated_at = v_now
    from jsonb_to_recordset(p_results) r (id uuid, outcome text, transport text,
      "requestId" text, "recordIndex" int, verdict text)
    where g.id = r.id and g.site_id = p_site_id and r.outcome = 'COMPLETED'
      and g.dispatch_status <> 'SENT' and g.attempt_count > 0;
  get diagnostics v_completed = row_count;
  with ended as (
    update public.marketing_signals g
      set claim_token = null, claimed_at = null, updated_at = v_now,
          dispatch_status = case when o.is_again then 'PENDING' else 'FAILED' end,
          next_retry_at = case when o.is_again then coalesce(o.retry_at,
            v_now + private.retry_delay(g.attempt_count - g.attempt_base
              + case when o.code is null then g.free_waits else 0 end)) end,
          attempt_base = g.attempt_base + o.is_free::int,
          free_waits = g.free_waits + o.is_free::int,
          may_have_arrived = g.may_have_arrived or o.is_unanswered,
          -- Google has nothing of it: the next try may take another action, or another account.
          conversion_action = case when g.may_have_arrived or o.is_unanswered
            then g.conversion_action end,
          last_error = case when o.nothing is not null then o.nothing
            when o.is_passing and not o.is_again
              then left(concat_ws(': ', 'MAX_ATTEMPTS_EXCEEDED', o.message), 1024)
            else left(o.message, 1024) end,
          provider_error_code = case when o.nothing is not null then null
            when o.is_passing and not o.is_again then 'MAX_ATTEMPTS' else left(o.code, 64) end,
          provider_error_category = case when o.nothing is not null then null
            when o.is_passing and not o.is_again then 'PERMANENT' else o.category end
      from (
        select r.id, r.code, r.message, p.category,
          case when not v_is_old or r.category is distinct from 'RATE_LIMIT' then r."retryAt" end
            as retry_at,
          p.is_passing, p.nothing,
          coalesce(r.category, 'TRANSIENT') = 'TRANSIENT'
            and (r.code is null or r.free is not true) as is_unanswered,
          p.is_free, p.nothing is null and p.is_passing
            and (p.is_free or w.attempt_count - w.attempt_base < p_max_attempts) as is_again
        from jsonb_to_recordset(p_results) r (id uuid, outcome text, code text, category text,
            message text, "retryAt" timestamptz, free boolean)
          join public.marketing_signals w on w.id = r.id and w.site_id = p_site_id
          join public.calls c on c.id = w.call_id
          cross join lateral (
            select coalesce(v_is_old and r.category = 'AUTH', false) as is_old) o
          cross join lateral (select
            case when o.is_old then 'TRANSIENT' else coalesce(r.category, 'TRANSIENT') end
              as category,
            o.is_old or coalesce(r.category, 'TRANSIENT') in ('TRANSIENT', 'RATE_LIMIT')
              as is_passing,
            w.free_waits < private.max_free_waits() and (o.is_old or r.free
              and coalesce(r.category, 'TRANSIENT') in ('TRANSIENT', 'RATE_LIMIT')) is true
              as is_free,
            case when c.status = any (private.ended_lead_states()) then 'CALL_IS_JUNK'
              when not c.marketing_consent then 'NO_CONSENT' end as nothing) p
        where r.outcome <> 'COMPLETED') o
      where g.id = o.id and g.dispatch_status = 'PROCESSING' and g.claim_token = p_token
      returning g.dispatch_status)
  select count(*) filter (where e.dispatch_status = 'PENDING'),
      count(*) filter (where e.dispatch_status = 'FAILED')
    into v_retried, v_failed from ended e;
  if p_batch is not null then
    perform private.note_requests(p_site_id, v_provider, 'signals', p_results, p_batch);
    perform private.finish_batch(p_site_id, p_token, p_batch, v_completed, v_failed, v_retried);
  end if;
  return jsonb_build_object(
    'completed', v_completed,
    'retried', v_retried,
    'failed', v_failed,
    'stale', jsonb_array_length(p_results) - v_completed - v_retried - v_failed);
end
$$;
grant execute on function public.settle_marketing_signal_jobs(uuid, uuid, jsonb, jsonb, int)
  to opsmantik_app, service_role;
