-- deliver_plain: Google has a worker's whole batch of plain rows: deliver_rows and finish_batch in
-- one statement.
--   Takes    p_ids in flight under p_token, all rows of its open batch, and p_indexes, each row's
--            place in a Data Manager request; null: as they stand.
--            p_batch {durationMs?, requestId?}.
--   Moves    PROCESSING -> COMPLETED. What is no longer plain stays.
--   Writes   what deliver_rows writes; and, if all rows moved, FINISHED and the metrics: FINISHED
--            is also the line of the delivery in the ledger. Nothing to the provider's health.
--   Safe     without the lock of a sale: a change of the sale has made its row not plain, or it
--            waits for this and then sees what was delivered. Beside others this waits at most
--            500 ms for a row, and then gives up as a whole (55P03). A claim that was too late for
--            a row holds it for a moment. Anything that holds it longer is a change of the sale,
--            which may wait for our rows in turn and must not lose.
--   Returns  how many moved, and whether this call finished the batch.
create function private.deliver_plain(
  p_site_id uuid, p_provider_key text, p_token uuid, p_ids uuid[], p_indexes int[],
  p_sent private.sent, p_batch jsonb, out moved int, out is_finished boolean
)
language plpgsql security definer set search_path = '' set opsmantik.delivers = 'yes'
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_memoize = off set lock_timeout = '500ms'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_verdict_at timestamptz := case when p_sent.verdict is not null then v_now end;
  v_claims uuid[] := array[p_token];
  v_line bigint := private.next_move_id();
  v_by_place boolean := p_indexes is null and p_sent.transport = 'data_manager';
begin
  -- A plain row was handed out once, as it says, and nothing was known of its sale before.
  with gone as (
    delete from private.queue_open q using unnest(p_ids) with ordinality i (id, place)
      where q.id = i.id and q.site_id = p_site_id and q.provider_key = p_provider_key
        and q.is_plain and q.claim_token = p_token
      returning q.id, q.sale_id, q.snapshot_id, q.value_cents, q.conversion_time,
        q.click_expires_at, q.not_before, q.created_at, q.currency, q.order_id, q.call_id,
        q.channel, q.click_kind, q.identifiers_hash, q.claimed_in, q.claimed_from, q.handed_via,
        q.conversion_name, q.conversion_action,
        case when v_by_place then i.place - 1 else p_indexes[i.place] end as index),
  kept as (
    insert into private.queue_delivered (id, site_id, sale_id, snapshot_id, value_cents,
        conversion_time, click_expires_at, not_before, created_at, updated_at, is_plain,
        provider_key, state, status, currency, order_id, call_id, channel, click_kind, uploaded_at,
        transport, provider_request_id, record_index, verdict, verdict_at, delivered_in,
        identifiers_hash, attempt_count, claimed_in, claimed_from, handed_snapshot_id,
        handed_value_cents, handed_via, conversion_name, conversion_action, claims)
      select g.id, p_site_id, g.sale_id, g.snapshot_id, g.value_cents,
        g.conversion_time, g.click_expires_at, g.not_before, g.created_at, v_now, true,
        p_provider_key, 'COMPLETED', 'COMPLETED', g.currency, g.order_id, g.call_id, g.channel,
        g.click_kind,
        v_now, p_sent.transport, p_sent.request_id, g.index, p_sent.verdict, v_verdict_at, v_line,
        g.identifiers_hash, 1, g.claimed_in, g.claimed_from, g.snapshot_id, g.value_cents,
        g.handed_via, g.conversion_name, g.conversion_action, v_claims
      from gone g),
  sums as materialized (
    select g.claimed_from, g.currency, private.hour_of(g.created_at) as hour, count(*) as n,
      sum(g.value_cents) as value_cents
    from gone g group by 1, 2, 3),
  whole as materialized (
    select sum(s.n)::int as n, sum(s.n)::int = cardinality(p_ids) as is_whole from sums s),
  asked as (
    insert into public.provider_requests as r (site_id, request_id, provider_key, pipeline,
        row_count, row_ids, customer_id, sent_at, next_poll_at)
      select p_site_id, p_sent.request_id, p_provider_key, 'seals', cardinality(p_ids),
        case when w.is_whole then p_ids else array(select g.id from gone g) end,
        p_sent.customer_id, v_now,
        v_now + make_interval(secs => coalesce(p_sent.first_poll_seconds, 1800))
      from whole w
      where w.n > 0 and p_sent.transport = 'data_manager' and p_sent.request_id is not null
        and p_sent.verdict is null
      on conflict (site_id, request_id) do update   -- the rest of a batch: Google is asked again
        set row_ids = r.row_ids || excluded.row_ids, finished_at = null,
            next_poll_at = coalesce(r.next_poll_at, excluded.next_poll_at)),
  over as (
    delete from private.queue_leases l using whole w
      where w.is_whole and l.token = p_token and l.site_id = p_site_id
        and l.claimed_count is not null
      returning w.n, l.started_in, l.claimed_at, l.claimed_count),
  ended as (
    insert into private.finished_batches (batch_id, site_id, provider_key, started_in,
        finished_in, started_at, finished_at, claimed_count, completed_count, failed_count,
        retry_count, duration_ms, provider_request_id)
      select p_token, p_site_id, p_provider_key, o.started_in, v_line, o.claimed_at, v_now,
        o.claimed_count, o.n, 0, 0,
        (p_batch ->> 'durationMs')::int, left(p_batch ->> 'requestId', 256)
      from over o),
  counted as (
    insert into private.queue_count_deltas (site_id, provider_key, from_state, state, currency,
        code, category, row_count, value_cents, hour, outcome_count, outcome_at, arrived_tries)
      select p_site_id, p_provider_key, s.claimed_from, 'COMPLETED', s.currency,
        '', '', s.n, s.value_cents, s.hour, s.n, v_now, case when o.n is null then 0 else s.n end
      from sums s left join over o on true)
  select coalesce(w.n, 0), exists (select from over) into moved, is_finished from whole w;
  if moved > 0 and not is_finished then   -- a line of its own: the batch's comes later, or came
    insert into private.queue_batch_moves (id, site_id, from_status, to_status, reason, actor_kind,
        created_at)
      values (v_line, p_site_id, 'PROCESSING', 'COMPLETED', 'WORKER_SETTLE', 'system', v_now);
  end if;
end
$$;
