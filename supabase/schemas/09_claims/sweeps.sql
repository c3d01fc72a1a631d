-- Sweeps: what happens to rows without an answer, rows that were tried too often, and rows whose
-- click is too old. Ids are passed on in arrays: the planner expects one row from a
-- CTE of a thousand, and two of them joined to a third took minutes.

-- stuck_after: a claim this old is presumed dead; the recovery sweep requeues the row.
create function private.stuck_after() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '15 minutes' $$;

-- oci_attempt_cap: nothing is tried for ever.
--   Moves    QUEUED/RETRY/PROCESSING -> FAILED MAX_ATTEMPTS, of rows that used up their attempts
--            since the operator's last retry. Never a row that was claimed less than 15 minutes
--            ago, whatever the argument: its last attempt may be under way.
--   Returns  {capped}; at most 5,000 a call.
--   Callers  service role only (cron, every 15 minutes).
create function public.oci_attempt_cap(
  p_max_attempts int default private.max_attempts(), p_min_age_minutes int default 0
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_age interval := make_interval(mins => greatest(p_min_age_minutes, 0));
  v_claim_age interval := greatest(make_interval(mins => p_min_age_minutes), private.stuck_after());
  v_capped int;
  v_changed uuid[];
  v_sale_id uuid;
  v_lost uuid[];
  v_sale_ids uuid[];
begin
  perform private.act(('system', null)::private.actor, 'ATTEMPT_CAP');
  select array_agg(t.id), array_agg(t.sale_id) into v_lost, v_sale_ids from (
    select q.id, q.sale_id from private.queue_in_flight q
    where q.leased_at <= v_now - v_claim_age
      and q.attempt_count - q.attempt_base >= p_max_attempts
    order by q.leased_at limit 5000) t;
  v_sale_ids := private.free_sales(v_sale_ids);
  with waiting as materialized (
    select q.id from public.offline_conversion_queue q
    where q.state = any (private.waiting_states()) and q.claim_token is null
      and q.tries > q.attempt_base and q.tries - q.attempt_base >= p_max_attempts
      and q.updated_at <= v_now - v_age
    order by q.updated_at limit 5000 for update skip locked),
  lost as materialized (
    select q.id from public.offline_conversion_queue q
    where q.id = any (v_lost) and q.sale_id = any (v_sale_ids)
      and q.claim_token is not null and q.attempt_count - q.attempt_base >= p_max_attempts
      and q.claimed_at <= v_now - v_claim_age
    for update skip locked),
  capped as (
    update public.offline_conversion_queue q
      set state = 'FAILED', status = 'FAILED', tries = q.attempt_count, claimed_at = null,
          claim_token = null, next_retry_at = null,
          provider_error_code = 'MAX_ATTEMPTS', provider_error_category = 'PERMANENT',
          last_error = 'MAX_ATTEMPTS_EXCEEDED', updated_at = v_now, is_plain = false,
          may_have_arrived = q.may_have_arrived or q.status = 'PROCESSING'
      from (select w.id from waiting w union all select l.id from lost l) t
      where q.id = t.id returning q.id, q.sale_id, q.kind)
  select count(*), array_agg(distinct c.sale_id) filter (where c.id in (select l.id from lost l)
      and (c.kind <> 'CONVERSION' or s.status <> 'CONFIRMED' or s.delivery_block is not null))
    into v_capped, v_changed from capped c join public.sales s on s.id = c.sale_id;
  -- A failed row may have arrived, or been in flight with an older value than the sale's.
  foreach v_sale_id in array coalesce(v_changed, '{}') loop
    perform private.follow_ledger(v_sale_id);
  end loop;
  return jsonb_build_object('capped', v_capped);
end
$$;
grant execute on function public.oci_attempt_cap(int, int) to opsmantik_app, service_role;

-- free_sales: locks those of these sales that are not locked yet, in order of id. The sale first,
-- as everywhere: what its last holder wrote is then visible.
create function private.free_sales(p_sale_ids uuid[]) returns uuid[]
language plpgsql security definer set search_path = ''
as $$
begin
  return array(
    select s.id from public.sales s where s.id = any (p_sale_ids)
    order by s.id for no key update skip locked);
end
$$;

-- recover_stuck_offline_conversion_jobs: requeues claims without an answer.
--   Moves    PROCESSING, claimed more than p_min_age_minutes ago -> RETRY, to be claimed at once.
--            FAILED with a time for the next try that has come -> RETRY; when a newer row of the
--            sale does the same, it stays FAILED for good.
--            QUEUED/RETRY conversions whose click Google no longer takes -> FAILED CLICK_EXPIRED,
--            and adjustments 54 days after their conversion -> FAILED ADJUSTMENT_EXPIRED.
--   Writes   FINISHED, as WORKER_LOST, for batches of that age that nobody finished. A probe whose
--            lease ran out opens its circuit again.
--   Safe     against a late answer: locked rows are skipped, and a success still wins after this.
--   Returns  {recovered, retried, expired, endedBatches}; at most 2,000 of each a call.
--   Callers  service role only (cron, every 10 minutes).
create function public.recover_stuck_offline_conversion_jobs(p_min_age_minutes int default 15)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_age interval := make_interval(mins => greatest(p_min_age_minutes, 1));
  -- First, while no sale is locked: finishing a batch takes locks that come before sales.
  v_batches jsonb := private.end_dead_batches(v_age);
  v_recovered int := private.recover_claims(v_age);
  v_retried int := private.retry_due();
  v_expired int := private.expire_waiting();
begin
  return jsonb_build_object(
    'recovered', v_recovered,
    'retried', v_retried,
    'expired', v_expired,
    'endedBatches', v_batches -> 'ended');
end
$$;
grant execute on function public.recover_stuck_offline_conversion_jobs(int)
  to opsmantik_app, service_role;

-- recover_claims: PROCESSING -> RETRY, of claims of this age.
create function private.recover_claims(p_age interval) returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_recovered int;
  v_changed uuid[];
  v_sale_id uuid;
  v_ids uuid[];
  v_sale_ids uuid[];
begin
  perform private.act(('system', null)::private.actor, 'RECOVERED');
  select array_agg(t.id), array_agg(t.sale_id) into v_ids, v_sale_ids from (
    select q.id, q.sale_id from private.queue_in_flight q where q.leased_at <= v_now - p_age
    order by q.leased_at limit 2000) t;
  v_sale_ids := private.free_sales(v_sale_ids);
  with mine as materialized (
    select q.id from public.offline_conversion_queue q
    where q.id = any (v_ids) and q.sale_id = any (v_sale_ids)
      and q.claim_token is not null and q.claimed_at <= v_now - p_age
    order by q.id for update skip locked),
  back as (
    update public.offline_conversion_queue q
      set state = 'RETRY', status = 'RETRY', tries = q.attempt_count, claimed_at = null,
          claim_token = null, next_retry_at = null,
          updated_at = v_now, may_have_arrived = true, is_plain = false
      from mine m where q.id = m.id returning q.sale_id, q.kind)
  select count(*), array_agg(distinct b.sale_id) filter (where b.kind <> 'CONVERSION'
      or s.status <> 'CONFIRMED' or s.delivery_block is not null)
    into v_recovered, v_changed from back b join public.sales s on s.id = b.sale_id;
  foreach v_sale_id in array coalesce(v_changed, '{}') loop
    perform private.follow_ledger(v_sale_id);
  end loop;
  perform private.end_leases(array(
    select l.token from private.queue_leases l where l.claimed_at <= v_now - p_age
    order by l.claimed_at limit 2000));
  return v_recovered;
end
$$;

-- retry_due: FAILED -> RETRY, of rows whose time for the next try has come. The sale is locked
-- first, so no second row of its kind is made beside this one.
create function private.retry_due() returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_retried int;
  v_ids uuid[];
  v_sale_ids uuid[];
begin
  perform private.act(('system', null)::private.actor, 'RETRY_DUE');
  select array_agg(t.id), array_agg(t.sale_id) into v_ids, v_sale_ids from (
    select q.id, q.sale_id from public.offline_conversion_queue q
    where q.state = 'FAILED' and q.next_retry_at <= v_now
    order by q.next_retry_at limit 2000) t;
  v_sale_ids := private.free_sales(v_sale_ids);
  with due as materialized (
    select q.id from public.offline_conversion_queue q
    where q.id = any (v_ids) and q.sale_id = any (v_sale_ids)
      and q.state = 'FAILED' and q.next_retry_at <= v_now
    for update skip locked),
  judged as (
    select q.id, exists (select from public.offline_conversion_queue o
      where o.sale_id = q.sale_id and o.provider_key = q.provider_key and o.kind = q.kind
        and o.id <> q.id
        and (o.state = any (private.waiting_states())
          or (o.state = 'FAILED' and o.next_retry_at is not null and o.id > q.id)))
      as is_superseded
    from public.offline_conversion_queue q join due on due.id = q.id),
  moved as (
    update public.offline_conversion_queue q
      set state = case when j.is_superseded then 'FAILED' else 'RETRY' end,
          status = case when j.is_superseded then 'FAILED' else 'RETRY' end,
          next_retry_at = null, updated_at = v_now,
          provider_error_code =
            case when j.is_superseded then 'SUPERSEDED' else q.provider_error_code end,
          provider_error_category =
            case when j.is_superseded then 'DETERMINISTIC_SKIP' else q.provider_error_category end
      from judged j where q.id = j.id returning q.status)
  select count(*) filter (where m.status = 'RETRY') into v_retried from moved m;
  return v_retried;
end
$$;

-- expire_waiting: QUEUED/RETRY -> FAILED, of rows that Google no longer takes.
create function private.expire_waiting() returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_expired int;
begin
  perform private.act(('system', null)::private.actor, 'EXPIRED');
  with expired as materialized (
    select q.id from public.offline_conversion_queue q
    where q.state = any (private.waiting_states()) and q.claim_token is null
      and q.click_expires_at <= v_now
    order by q.click_expires_at limit 2000 for update skip locked)
  update public.offline_conversion_queue q
    set state = 'FAILED', status = 'FAILED', next_retry_at = null, updated_at = v_now,
        provider_error_category = 'VALIDATION',
        provider_error_code = case
          when q.kind = 'CONVERSION' then 'CLICK_EXPIRED' else 'ADJUSTMENT_EXPIRED' end,
        last_error = case when q.kind <> 'CONVERSION' then private.adjustment_expired_message()
          else 'The click is older than 90 days; Google takes no conversion for it any more.' end
    from expired e where q.id = e.id;
  get diagnostics v_expired = row_count;
  return v_expired;
end
$$;
