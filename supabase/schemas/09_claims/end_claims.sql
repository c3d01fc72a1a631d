-- retry_delay: 2, 4, 8 … minutes, at most an hour, each up to a quarter more or less, so that
-- what failed together does not return together. Inlined, like uuid_v7: an answer calls it for each
-- of a thousand rows.
create function private.retry_delay(p_attempts int) returns interval
language sql volatile
as $$
  select least(interval '1 hour', interval '2 minutes'
      * pg_catalog.power(2, least(greatest(p_attempts, 1), 10) - 1))
    * (0.75 + pg_catalog.random() * 0.5)
$$;

-- may_be_under_another: whether Google may have the adjusted conversion under another action than
-- the adjustment's: one that a script named, or one that was chosen before.
create function private.may_be_under_another(p_row public.offline_conversion_queue) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (select from public.provider_dispatches d
      where d.sale_id = p_row.sale_id and d.provider_key = p_row.provider_key
        and d.verdict is distinct from 'REJECTED'
        and d.conversion_action is distinct from p_row.conversion_action)
    or exists (select from public.offline_conversion_queue q
        join private.queue_moves t on t.queue_id = q.id and t.reason = 'SCRIPT_EXPORT'
      where q.sale_id = p_row.sale_id and q.kind = 'CONVERSION')
$$;

-- disprove_arrival: for a day Google could not find a conversion that we only assumed it to have,
-- under the one action that it was sent to. It never arrived: there is nothing to adjust, and
-- nothing for a person to do. Called with the sale locked.
create function private.disprove_arrival(p_row public.offline_conversion_queue) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  update private.assumed_dispatches d
    set verdict = 'REJECTED', verdict_reason = 'CONVERSION_NOT_FOUND', verdict_at = v_now
    where d.sale_id = p_row.sale_id and d.verdict = 'UNKNOWN'
      and d.verdict_reason = 'NEVER_ANSWERED' and d.dispatched_at <= v_now - interval '1 day'
      and not exists (select from private.standing_dispatches s
        where s.sale_id = d.sale_id and s.verdict_reason is distinct from 'NEVER_ANSWERED');
  if found then
    update public.offline_conversion_queue q
      set provider_error_code = 'NEVER_ARRIVED', provider_error_category = 'DETERMINISTIC_SKIP',
          last_error = 'Google never had the conversion: there is nothing to adjust.',
          updated_at = v_now
      where q.id = p_row.id;
    perform private.follow_rejection(p_row.sale_id, 'CONVERSION', false, null);
  end if;
end
$$;

-- end_claims: these rows were not delivered. Called with their sales locked.
--   Takes    p_results [{id, outcome RETRY|FAILED, code?, category?, message?, retryAt?, free?,
--            byHand?}]. Without a code nobody answered: the sender threw.
--   Moves    PROCESSING -> RETRY or FAILED, only under the given claim (null: any claim).
--            TRANSIENT and RATE_LIMIT get a time for the next try while attempts are left, and
--            MAX_ATTEMPTS when none is left; everything else is final.
--            free: Google asked to wait, so the attempt is given back, at most 20 times a row.
--            Without a code nobody answered: each such wait is twice as long as the one before.
--            byHand: no API makes this adjustment. The row waits for a person, as it
--            does when Google did not find what may be under another action.
--   Returns  {failed, retried}.
create function private.end_claims(p_token uuid, p_results jsonb, p_max_attempts int) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_answer jsonb;
  v_changed uuid[];
  v_missing uuid[];
  v_sale_id uuid;
begin
  with ended as (
    update public.offline_conversion_queue q
      set claimed_at = null, claim_token = null, tries = q.attempt_count, is_plain = false,
          updated_at = v_now, state = b.to_state, status = b.to_state,
          next_retry_at = case when b.is_again then coalesce(o.retry_at,
            v_now + private.retry_delay(q.attempt_count - q.attempt_base
              + case when o.code is null then q.free_waits else 0 end)) end,
          attempt_base = case when b.by_hand is not null then q.attempt_count
            when b.is_free then q.attempt_base + 1 else q.attempt_base end,
          free_waits = q.free_waits + b.is_free::int,
          by_hand_reason = coalesce(b.by_hand, q.by_hand_reason),
          -- A script says what it did not send; a worker whose call failed cannot know.
          may_have_arrived = q.may_have_arrived or b.is_unanswered,
          provider_error_code = case when b.is_over then 'MAX_ATTEMPTS'
            when b.by_hand is null and (o.outcome <> 'RETRY' or not b.is_again)
              then coalesce(left(o.code, 64), 'UNKNOWN') else left(o.code, 64) end,
          provider_error_category = case when b.is_over then 'PERMANENT' else o.category end,
          last_error = left(case when b.is_over
            then concat_ws(': ', 'MAX_ATTEMPTS_EXCEEDED', o.message) else o.message end, 1024),
          attempt_error = left(o.message, 1024), attempt_error_code = left(o.code, 64),
          attempt_error_category = o.category,
          -- Refused, or asked to wait: a conversion of which no other hand-out can be at Google
          -- may go under another action next, or to another account.
          conversion_action = case when q.kind <> 'CONVERSION' or b.is_unanswered
              or q.may_have_arrived or exists (select from public.provider_dispatches d
                where d.sale_id = q.sale_id and d.verdict is distinct from 'REJECTED')
            then q.conversion_action end
      from (
          select r.id, r.outcome, r.message, r."retryAt" as retry_at, r.code,
            coalesce(r.category, 'TRANSIENT') as category,
            coalesce(r.free, false) and r.outcome = 'RETRY' as asks_to_wait,
            r."byHand" as by_hand
          from jsonb_to_recordset(p_results) r (id uuid, outcome text, code text, category text,
            message text, "retryAt" timestamptz, free boolean, "byHand" text)) o
        join public.offline_conversion_queue w on w.id = o.id
        cross join lateral (select
          o.asks_to_wait and w.free_waits < private.max_free_waits() as is_free,
          o.asks_to_wait or o.category in ('TRANSIENT', 'RATE_LIMIT') as is_passing,
          case when w.kind = 'CONVERSION' then null
            when o.by_hand is null and o.code = 'CONVERSION_NOT_FOUND'
                and w.attempt_count - w.attempt_base >= p_max_attempts
                and private.may_be_under_another(w) then 'SENT_BY_SCRIPT'
            else o.by_hand end as by_hand) f
        cross join lateral (select f.by_hand is null and f.is_passing as is_passing,
          f.is_free or w.attempt_count - w.attempt_base < p_max_attempts as may_go_on) g
        cross join lateral (select f.is_free, f.by_hand,
          g.is_passing and g.may_go_on as is_again, g.is_passing and not g.may_go_on as is_over,
          case when f.by_hand is not null or g.is_passing and g.may_go_on and o.outcome = 'RETRY'
            then 'RETRY' else 'FAILED' end as to_state,
          p_token is not null and o.category = 'TRANSIENT'
            and (not o.asks_to_wait or o.code is null) as is_unanswered) b
      where q.id = o.id and q.state in ('QUEUED', 'RETRY')
        and case when p_token is null then q.claim_token is not null
          else q.claim_token = p_token end
      returning q.id, q.status, q.kind, q.sale_id,
        b.is_over and o.code = 'CONVERSION_NOT_FOUND' as is_not_there)
  select array_agg(e.id) filter (where e.is_not_there),
      jsonb_build_object(
        'failed', count(*) filter (where e.status = 'FAILED'),
        'retried', count(*) filter (where e.status = 'RETRY')),
      array_agg(distinct e.sale_id) filter (where e.kind <> 'CONVERSION'
        or s.status <> 'CONFIRMED' or s.delivery_block is not null)
    into v_missing, v_answer, v_changed from ended e join public.sales s on s.id = e.sale_id;
  perform private.disprove_arrival(q) from public.offline_conversion_queue q
    where q.id = any (v_missing);
  -- A row whose sale changed while it was in flight must not be tried again.
  foreach v_sale_id in array coalesce(v_changed, '{}') loop
    perform private.follow_ledger(v_sale_id);
  end loop;
  return v_answer;
end
$$;
