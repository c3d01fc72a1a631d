-- Answers: what became of rows that were handed out.
-- Locks are taken in one order everywhere: sales by id, then their queue rows. Who changes rows without their sales never waits for one.

-- For an answer the sales are enough: whoever decides by what was delivered holds them. Claims and sweeps of waiting rows do not, but skip what somebody has;
-- an answer that meets one of them waits, and looks at the row anew.
create function private.lock_sales_of(p_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  perform from public.sales s where s.id in (select q.sale_id from public.offline_conversion_queue q where q.id = any (p_ids)) order by s.id for no key update;
end
$$;

-- For a person's action, which decides by what the row is: no claim may change it meanwhile.
create function private.lock_with_sales(p_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  perform private.lock_sales_of(p_ids);
  perform from public.offline_conversion_queue q where q.id = any (p_ids) order by q.id for update;
end
$$;

-- complete_rows: Google has these. Called with their sales locked.
--   Moves    any but COMPLETED -> COMPLETED, if the row was ever handed out (or a person did it by hand): a success that comes after a
--            recovery, a cap or an operator's reset is still a success. Clears errors; the row says from now on what was delivered.
--   Takes    p_done [{id, requestId?, transport?, recordIndex?, verdict?}]; p_transport for those
--            that name none; p_token: a claim under which each row must have been handed out once,
--            null for any; p_first_poll_seconds: when Data Manager is first asked for its verdict;
--            p_customer_id: the account that they were sent to.
--   Writes   the dispatch with what was handed out, the requests to ask for verdicts, then brings the
--            queue in line with what the sale is worth by now.
--   Returns  how many rows moved.
create function private.complete_rows(
  p_done jsonb, p_transport text, p_token uuid default null, p_first_poll_seconds int default null,
  p_customer_id text default null
) returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_moved int;
  v_changed uuid[];
  v_unblocked uuid[];
  v_sale_id uuid;
begin
  with given as materialized (
    select g.id, left(g."requestId", 256) as request_id, coalesce(g.transport, p_transport) as transport,
      g."recordIndex" as record_index, g.verdict
    from jsonb_to_recordset(p_done)
      g (id uuid, "requestId" text, transport text, "recordIndex" int, verdict text)),
  done as (
    update public.offline_conversion_queue q
      set status = 'COMPLETED', uploaded_at = v_now, provider_request_id = i.request_id, claimed_at = null, claim_token = null,
          next_retry_at = null, last_error = null, provider_error_code = null, provider_error_category = null, updated_at = v_now,
          attempt_error = null, attempt_error_code = null, attempt_error_category = null,
          -- Of the only hand-out nothing is left open: this is its answer.
          may_have_arrived = q.may_have_arrived and q.attempt_count > 1,
          -- A person entered what the sale is worth; everybody else sends what was handed out.
          snapshot_id = case i.transport
            when 'by_hand' then (private.newest_snapshot(q.sale_id)).id
            else coalesce(q.handed_snapshot_id, q.snapshot_id) end,
          value_cents = case i.transport
            when 'by_hand' then (private.newest_snapshot(q.sale_id)).amount_cents
            else coalesce(q.handed_value_cents, q.value_cents) end
      from given i
      where q.id = i.id and q.status <> 'COMPLETED' and (q.attempt_count > 0 or i.transport = 'by_hand')
        and (p_token is null or p_token = any (q.claims))
      returning q.*, i.transport, i.record_index, i.verdict,
        -- Which of the values that left Google kept, is known when they are one or Google says so.
        i.transport = 'by_hand' or not q.handed_values_differ and (
          i.verdict is not distinct from 'CONFIRMED' or q.kind <> 'CONVERSION'
          or not exists (select from public.provider_dispatches x where x.sale_id = q.sale_id
            and x.kind = 'CONVERSION' and x.value_cents <> q.value_cents)) as is_certain),
  told as (
    insert into public.provider_dispatches (site_id, queue_id, sale_id, snapshot_id, kind,
        provider_key, transport, order_id, conversion_name, conversion_action, conversion_time,
        value_cents, currency, identifiers_hash, click_kind, is_certain, provider_request_id, record_index, dispatched_at,
        verdict, verdict_at)
      select d.site_id, d.id, d.sale_id, d.snapshot_id, d.kind,
        d.provider_key, d.transport, d.order_id, d.conversion_name, d.conversion_action,
        d.conversion_time, d.value_cents, d.currency,
        case when d.transport <> 'by_hand' then d.identifiers_hash end,
        case when d.transport <> 'by_hand' then d.click_kind end,
        d.is_certain, d.provider_request_id,
        d.record_index, v_now, d.verdict, case when d.verdict is not null then v_now end
      from done d),
  asked as (
    insert into public.provider_requests (site_id, request_id, provider_key, pipeline, row_count,
        customer_id, sent_at, next_poll_at)
      select d.site_id, d.provider_request_id, d.provider_key, 'seals',
        (select count(*) from given g where g.request_id = d.provider_request_id), p_customer_id,
        v_now,
        v_now + make_interval(secs => coalesce(p_first_poll_seconds, 1800))
      from done d
      where d.transport = 'data_manager' and d.provider_request_id is not null and d.verdict is null
      group by d.site_id, d.provider_request_id, d.provider_key
      on conflict (site_id, request_id) do nothing)
  -- Most sales are worth what Google was told, with nothing else waiting: they need no second look (a third of an ack's time).
  select count(*), array_agg(distinct d.sale_id) filter (where d.kind = 'RETRACT' or not d.is_certain or s.status <> 'CONFIRMED'
      or s.amount_cents <> d.value_cents or exists (select from public.offline_conversion_queue o where o.sale_id = d.sale_id and o.id <> d.id
        and (o.status in ('QUEUED', 'RETRY') or o.next_retry_at is not null))), array_agg(distinct d.sale_id) filter (where s.delivery_block is not null)
    into v_moved, v_changed, v_unblocked from done d join public.sales s on s.id = d.sale_id;
  -- In flight when consent was withdrawn, and arrived: Google must be told when the sale changes.
  if v_unblocked is not null then
    update public.sales s set delivery_block = null, updated_at = v_now where s.id = any (v_unblocked);
    perform private.forget_identifiers(v_unblocked);
  end if;
  foreach v_sale_id in array coalesce(v_changed, '{}') loop
    perform private.follow_ledger(v_sale_id);
  end loop;
  return v_moved;
end
$$;

-- retry_delay: 2, 4, 8 … minutes, at most an hour, each up to a quarter more or less, so that what failed together does not return together.
-- Inlined, like uuid_v7: an answer asks it for each of a thousand rows.
create function private.retry_delay(p_attempts int) returns interval
language sql volatile
as $$
  select least(interval '1 hour', interval '2 minutes'
      * pg_catalog.power(2, least(greatest(p_attempts, 1), 10) - 1))
    * (0.75 + pg_catalog.random() * 0.5)
$$;

-- may_be_under_another: whether Google may have what an adjustment is for under another action than
-- the adjustment's: one that a script named, or one that was chosen before.
create function private.may_be_under_another(p_row public.offline_conversion_queue) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (select from public.provider_dispatches d
      where d.sale_id = p_row.sale_id and d.provider_key = p_row.provider_key
        and d.verdict is distinct from 'REJECTED'
        and d.conversion_action is distinct from p_row.conversion_action)
    or exists (select from public.offline_conversion_queue q
        join public.queue_transitions t on t.queue_id = q.id and t.reason = 'SCRIPT_EXPORT'
      where q.sale_id = p_row.sale_id and q.kind = 'CONVERSION')
$$;

-- disprove_arrival: for a day Google could not find what we only assumed it to have, under the one
-- action that it left for. It never arrived: there is nothing to adjust, and nothing for a person to
-- do. Called with the sale locked.
create function private.disprove_arrival(p_row public.offline_conversion_queue) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  update public.provider_dispatches d
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
--   Takes    p_results [{id, outcome RETRY|FAILED, code?, category?, words?, retryAt?, free?,
--            byHand?}]. Without a code nobody answered: the sender threw.
--   Moves    PROCESSING -> RETRY or FAILED, only under the given claim (null: whichever it is). TRANSIENT and RATE_LIMIT get a time for the next
--            try while attempts are left, and MAX_ATTEMPTS when none is; everything else is final.
--            free: Google asked to wait, so the attempt is given back, at most 20 times a row. Without
--            a code nobody answered: each such wait is twice as long as the one before.
--            byHand: no API makes this adjustment. The row waits for a person. So it does when
--            Google did not find what may be under another action.
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
      set claimed_at = null, claim_token = null, updated_at = v_now,
          status = case when b.by_hand is not null or b.is_again and o.outcome = 'RETRY'
            then 'RETRY' else 'FAILED' end,
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
            then concat_ws(': ', 'MAX_ATTEMPTS_EXCEEDED', o.words) else o.words end, 1024),
          attempt_error = left(o.words, 1024), attempt_error_code = left(o.code, 64),
          attempt_error_category = o.category,
          -- Refused, or asked to wait: a conversion of which no other hand-out can be at Google may
          -- go under another action next, or to another account.
          conversion_action = case when q.kind <> 'CONVERSION' or b.is_unanswered
              or q.may_have_arrived or exists (select from public.provider_dispatches d
                where d.sale_id = q.sale_id and d.verdict is distinct from 'REJECTED')
            then q.conversion_action end
      from (select r.id, r.outcome, r.words, r."retryAt" as retry_at, r.code,
              coalesce(r.category, 'TRANSIENT') as category,
              coalesce(r.free, false) and r.outcome = 'RETRY' as asks_to_wait, r."byHand" as by_hand
            from jsonb_to_recordset(p_results) r (id uuid, outcome text, code text, category text,
              words text, "retryAt" timestamptz, free boolean, "byHand" text)) o
        join public.offline_conversion_queue w on w.id = o.id
        cross join lateral (select o.asks_to_wait and w.free_waits < 20 as is_free,
          o.asks_to_wait or o.category in ('TRANSIENT', 'RATE_LIMIT') as is_passing,
          case when w.kind = 'CONVERSION' then null
            when o.by_hand is null and o.code = 'CONVERSION_NOT_FOUND'
                and w.attempt_count - w.attempt_base >= p_max_attempts
                and private.may_be_under_another(w) then 'SENT_BY_SCRIPT'
            else o.by_hand end as by_hand) f
        cross join lateral (select f.is_free, f.by_hand,
          f.by_hand is null and f.is_passing
            and (f.is_free or w.attempt_count - w.attempt_base < p_max_attempts) as is_again,
          f.by_hand is null and f.is_passing
            and not (f.is_free or w.attempt_count - w.attempt_base < p_max_attempts) as is_over,
          p_token is not null and o.category = 'TRANSIENT'
            and (not o.asks_to_wait or o.code is null) as is_unanswered) b
      where q.id = o.id and q.status = 'PROCESSING' and (p_token is null or q.claim_token = p_token)
      returning q.id, q.status, q.kind, q.sale_id, b.is_over and o.code = 'CONVERSION_NOT_FOUND' as is_not_there)
  select array_agg(e.id) filter (where e.is_not_there), jsonb_build_object('failed', count(*) filter (where e.status = 'FAILED'), 'retried', count(*) filter (where e.status = 'RETRY')),
      array_agg(distinct e.sale_id) filter (where e.kind <> 'CONVERSION' or s.status <> 'CONFIRMED' or s.delivery_block is not null)
    into v_missing, v_answer, v_changed from ended e join public.sales s on s.id = e.sale_id;
  perform private.disprove_arrival(q) from public.offline_conversion_queue q where q.id = any (v_missing);
  foreach v_sale_id in array coalesce(v_changed, '{}') loop
    perform private.follow_ledger(v_sale_id);   -- what changed while the row was in flight must not be tried again
  end loop;
  return v_answer;
end
$$;

-- of_this_site: the given rows that belong to a site; of another's nothing is changed and nothing is learnt.
create function private.of_this_site(p_site_id uuid, p_ids uuid[]) returns uuid[]
language plpgsql stable security definer set search_path = ''
as $$
begin
  return array(select q.id from public.offline_conversion_queue q where q.id = any (p_ids) and q.site_id = p_site_id);
end
$$;

-- ack_offline_conversions: the site's script handed these to Google.
--   Moves    any but COMPLETED -> COMPLETED, of rows that were ever claimed.
--   Safe     to repeat: the answer is the same, since it says what holds, not what moved. Accepted after a switch to the API as well.
--   Returns  {updated, refused: ids of another site, unknown, or never handed out}.
--   Callers  service role only.
create function public.ack_offline_conversions(p_site_id uuid, p_ids uuid[], p_key_id uuid default null) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_ids uuid[] := private.of_this_site(p_site_id, p_ids);
begin
  perform private.lock_sales_of(v_ids);
  perform private.act(('api_key', p_key_id)::private.actor, 'SCRIPT_ACK');
  perform private.complete_rows(
    (select coalesce(jsonb_agg(jsonb_build_object('id', i)), '[]') from unnest(v_ids) i), 'script');
  return (select jsonb_build_object('updated', count(q.id), 'refused', coalesce(jsonb_agg(i.id order by i.id) filter (where q.id is null), '[]'))
          from (select distinct u.id from unnest(p_ids) u (id)) i
          left join public.offline_conversion_queue q on q.id = i.id and q.site_id = p_site_id and q.status = 'COMPLETED');
end
$$;

-- fail_offline_conversions: the site's script could not hand these over.
--   Moves    PROCESSING -> FAILED. TRANSIENT and RATE_LIMIT come back by themselves while attempts are left; VALIDATION and AUTH do not.
--   Takes    p_claims {id: claim}, for the ids that came with one.
--   Safe     against late news: a row that is not PROCESSING any more stays what it is. Safe to repeat: the answer says what holds.
--   Refuses  by row: STALE_CLAIM when the given claim is not the row's newest; CLAIMED_TWICE when
--            none is given and two claims of the last 45 minutes could be meant, a lease (15) and a
--            script's longest run (30): recovery brings the row back.
--   Returns  {updated: rows that were handed out and are known not to have arrived, refused,
--            reasons: {id: why}}.
--   Callers  service role only.
create function public.fail_offline_conversions(
  p_site_id uuid, p_ids uuid[], p_code text, p_category text, p_words text,
  p_max_attempts int default 5, p_key_id uuid default null, p_claims jsonb default null
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_ids uuid[] := private.of_this_site(p_site_id, p_ids);
  v_reasons jsonb;
begin
  -- With the rows: whose claim it is must still be true when it is ended.
  perform private.lock_with_sales(v_ids);
  select coalesce(array_agg(j.id) filter (where j.reason is null), '{}'),
      coalesce(jsonb_object_agg(j.id, j.reason) filter (where j.reason is not null), '{}')
    into v_ids, v_reasons
    from (select q.id, case
        when p_claims ->> q.id::text <> coalesce(q.claims[1]::text, '') then 'STALE_CLAIM'
        when p_claims ? q.id::text or q.status <> 'PROCESSING' then null
        -- An operator's undo moves a row back under the claim it had: only claims count attempts.
        when (select count(distinct t.attempt_count) > 1 from public.queue_transitions t
              where t.queue_id = q.id and t.to_status = 'PROCESSING'
                and t.created_at > private.current_moment() - interval '45 minutes')
          then 'CLAIMED_TWICE' end as reason
      from public.offline_conversion_queue q where q.id = any (v_ids)) j;
  perform private.act(('api_key', p_key_id)::private.actor, 'SCRIPT_ACK_FAILED');
  perform private.end_claims(null, (select coalesce(jsonb_agg(jsonb_build_object('id', i, 'outcome', 'FAILED', 'code', p_code, 'category', p_category,
    'words', p_words)), '[]') from unnest(v_ids) i), p_max_attempts);
  return jsonb_build_object(
    'updated', (select count(*) from public.offline_conversion_queue q where q.id = any (v_ids) and q.status in ('FAILED', 'RETRY') and q.attempt_count > 0),
    'refused', (select coalesce(jsonb_agg(distinct i), '[]')
                from unnest(p_ids) i where i <> all (v_ids)),
    'reasons', v_reasons);
end
$$;

-- settle_offline_conversion_jobs: what the provider said of a worker's rows of one site.
--   Takes    p_token: the claim under which they were handed out.
--            p_results [{id, outcome COMPLETED|RETRY|FAILED, transport?, requestId?, recordIndex?,
--            verdict?, code?, category?, words?, retryAt?, free?, byHand?}]
--            p_batch: finish_batch's, with provider, firstPollSeconds? and customerId?, the account
--            that it went to. Null: nothing is told of the batch, and recovery ends it.
--   Moves    to COMPLETED from anything but COMPLETED, if the row was ever claimed by p_token: a
--            success is a success, however late. To RETRY or FAILED only while p_token holds it.
--            A refused access says nothing of credentials that came since: such rows are tried
--            again, and nothing is blocked. Nor does a quota: its rows wait as after any failure.
--            The same where the site went to its script since.
--   Safe     to repeat: what was settled is not settled again. Rows of another site are neither
--            changed nor revealed.
--   Returns  {completed, retried, failed, stale}: stale results met a row that somebody else has
--            moved since, or that p_token never held.
--   Refuses  400 VALIDATION_FAILED without a token.
--   Callers  service role only.
create function public.settle_offline_conversion_jobs(
  p_site_id uuid, p_token uuid, p_results jsonb, p_transport text default 'data_manager',
  p_max_attempts int default 5, p_batch jsonb default null
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_results jsonb := p_results;
  v_ids uuid[] := private.of_this_site(p_site_id,
    array(select (r ->> 'id')::uuid from jsonb_array_elements(p_results) r));
  v_completed int;
  v_ended jsonb;
begin
  if p_token is null then   -- below, null is any claim
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "token"}');
  end if;
  -- Before the sales, always: connecting anew holds it while it opens rows that were refused access.
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
  if jsonb_typeof(p_batch -> 'blockActions') = 'array' then   -- before a row forgets its action
    p_batch := private.with_refused_actions(p_batch, (
      select jsonb_agg(jsonb_build_object('conversionName', q.conversion_name,
        'action', q.conversion_action, 'code', coalesce(r.code, 'UNKNOWN')))
      from jsonb_to_recordset(v_results) r (id uuid, outcome text, code text)
        join public.offline_conversion_queue q on q.id = r.id
      where r.outcome = 'FAILED' and q.id = any (v_ids)));
  end if;
  perform private.act(('system', null)::private.actor, 'WORKER_SETTLE');
  select private.complete_rows(coalesce(jsonb_agg(r), '[]'), p_transport, p_token,
      (p_batch ->> 'firstPollSeconds')::int, left(p_batch ->> 'customerId', 20))
    into v_completed
    from jsonb_array_elements(v_results) r
    where r ->> 'outcome' = 'COMPLETED' and (r ->> 'id')::uuid = any (v_ids);
  if exists (select from jsonb_array_elements(v_results) r where r ->> 'outcome' <> 'COMPLETED') then
    v_ended := private.end_claims(p_token, (
      select coalesce(jsonb_agg(r), '[]') from jsonb_array_elements(v_results) r
      where r ->> 'outcome' <> 'COMPLETED' and (r ->> 'id')::uuid = any (v_ids)), p_max_attempts);
  end if;
  if p_batch is not null then
    perform private.finish_batch(p_site_id, p_token, p_batch, v_completed,
      coalesce((v_ended ->> 'failed')::int, 0), coalesce((v_ended ->> 'retried')::int, 0));
  end if;
  return jsonb_build_object('completed', v_completed, 'retried', coalesce((v_ended ->> 'retried')::int, 0), 'failed', coalesce((v_ended ->> 'failed')::int, 0),
    'stale', jsonb_array_length(p_results) - v_completed - coalesce((v_ended ->> 'retried')::int + (v_ended ->> 'failed')::int, 0));
end
$$;

-- fail_unexportable_rows: conversions that can never be sent as they are. They are told to an operator instead of being claimed in vain.
--   Takes    p_rows [{id, code, words}]
--   Moves    QUEUED/RETRY -> FAILED VALIDATION.
--   Safe     against a late answer: it holds no sale, so it must not wait for a row; one in somebody's hands is left for the next export.
--   Returns  {failed}.
--   Callers  service role only.
create function public.fail_unexportable_rows(p_site_id uuid, p_rows jsonb, p_key_id uuid default null) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_failed int;
begin
  perform private.act(('api_key', p_key_id)::private.actor, 'UNEXPORTABLE');
  with given as materialized (select r.id, r.code, r.words from jsonb_to_recordset(p_rows) r (id uuid, code text, words text)),
  free as materialized (
    select q.id from public.offline_conversion_queue q
    where q.id in (select g.id from given g) and q.site_id = p_site_id and q.status in ('QUEUED', 'RETRY') for update skip locked)
  update public.offline_conversion_queue q
    set status = 'FAILED', next_retry_at = null, provider_error_code = left(g.code, 64), provider_error_category = 'VALIDATION', last_error = left(g.words, 1024),
        updated_at = private.current_moment()
    from free f join given g on g.id = f.id where q.id = f.id;
  get diagnostics v_failed = row_count;
  return jsonb_build_object('failed', v_failed);
end
$$;

-- complete_adjustment_by_hand: where no script and no API corrects a conversion, a person does it in
-- Google Ads and says so here.
--   Takes    p_done {id, valueCents}: the row and the value that was entered. Another value than
--            the sale's by now is refused.
--   Moves    QUEUED/RETRY -> COMPLETED, of a RESTATE or RETRACT on a site whose script sends, or with
--            a by_hand_reason. FAILED -> COMPLETED as well, of a retraction that holds back another
--            sale of the lead, at any age: nothing else would ever release that one.
--   Safe     to repeat.
--   Refuses  409 STALE_VERSION with the value it should be; 409 ILLEGAL_MOVE for a conversion, an
--            adjustment that an API makes, a row that does not wait, or one that Google takes no
--            more.
--   Callers  operators.
create function public.complete_adjustment_by_hand(p_public_id text, p_done jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_row public.offline_conversion_queue;
  v_newest public.revenue_snapshots;
  v_holds boolean;
  v_proof_id uuid;
begin
  perform private.lock_with_sales(private.of_this_site(v_site.id, array[(p_done ->> 'id')::uuid]));
  select q.* into v_row from public.offline_conversion_queue q where q.id = (p_done ->> 'id')::uuid and q.site_id = v_site.id;
  if v_row.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if v_row.status = 'COMPLETED' and v_row.value_cents = (p_done ->> 'valueCents')::bigint then
    return jsonb_build_object('ok', true);
  end if;
  v_holds := v_row.kind = 'RETRACT' and exists (select from private.held_sales h
    join public.sales s on s.id = h.sale_id and s.status = 'CONFIRMED' where h.by_row_id = v_row.id);
  if v_row.kind = 'CONVERSION'
     or not (v_row.status in ('QUEUED', 'RETRY')
         and (v_site.oci_sync_method = 'script' or v_row.by_hand_reason is not null)
       or v_row.status = 'FAILED' and v_holds)
     or v_row.click_expires_at <= private.current_moment() and not v_holds
     or (v_row.kind = 'RETRACT') <> exists (select from public.sales s where s.id = v_row.sale_id and s.status = 'CANCELED') then
    perform private.fail(409, 'ILLEGAL_MOVE', jsonb_build_object('from', v_row.status, 'to', 'COMPLETED', 'allowed', '[]'::jsonb));
  end if;
  v_newest := private.newest_snapshot(v_row.sale_id);
  if v_newest.amount_cents is distinct from (p_done ->> 'valueCents')::bigint then
    perform private.fail(409, 'STALE_VERSION', jsonb_build_object('status', v_row.status,
      'amountCents', v_newest.amount_cents, 'currency', v_row.currency));
  end if;
  perform private.act(private.user_actor(), 'DONE_BY_HAND');
  perform private.complete_rows(jsonb_build_array(jsonb_build_object('id', v_row.id)), 'by_hand');
  v_proof_id := private.prove(v_site.id, private.user_actor(), jsonb_build_object('contract', 'conversion', 'contractVersion',
    (select c.contract_version from public.contracts c where c.contract = 'conversion'), 'entityId', v_row.id, 'from', v_row.status, 'to', 'COMPLETED',
    'facts', jsonb_build_object('saleId', v_row.sale_id, 'kind', v_row.kind,
      'valueCents', v_newest.amount_cents, 'byHand', true)));
  return jsonb_build_object('ok', true, 'proof_id', v_proof_id);
end
$$;

grant execute on function
  public.ack_offline_conversions(uuid, uuid[], uuid),
  public.fail_offline_conversions(uuid, uuid[], text, text, text, int, uuid, jsonb),
  public.settle_offline_conversion_jobs(uuid, uuid, jsonb, text, int, jsonb),
  public.fail_unexportable_rows(uuid, jsonb, uuid)
to opsmantik_app, service_role;
grant execute on function public.complete_adjustment_by_hand(text, jsonb) to authenticated;
