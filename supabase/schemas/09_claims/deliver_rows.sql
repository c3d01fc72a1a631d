-- Deliveries: how a row leaves the open part of the queue for the delivered one.

-- What is the same for all rows of an answer.
create type private.sent as (
  transport text,
  request_id text,
  verdict text,
  first_poll_seconds int,                          -- when Data Manager is first asked for it
  customer_id text                                 -- the account that it was sent to
);

-- deliver_rows: Google has these rows.
--   Takes    p_indexes: each row's place in a Data Manager request. p_token: a claim under which
--            the row must have been handed out once; null for any. The caller has locked the
--            rows, after their sales.
--            p_by_hand: what a person entered, else null. p_after: the newest that is known of
--            each row's sale, and p_certain: whether Google kept what was sent.
--   Moves    any but COMPLETED -> COMPLETED. Clears errors; the row says from now on what was
--            delivered.
--   Writes   what was handed out and how, and the request to ask for verdicts.
--   Safe     beside others: it waits at most 500 ms for a row, and then gives up as a whole
--            (55P03), as deliver_plain does.
--   Returns  how many moved, and their ids.
create function private.deliver_rows(
  p_site_id uuid, p_ids uuid[], p_indexes int[], p_sent private.sent, p_token uuid,
  p_by_hand public.revenue_snapshots, p_after timestamptz[], p_certain boolean[],
  out moved int, out row_ids uuid[]
)
language plpgsql security definer set search_path = '' set opsmantik.delivers = 'yes'
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set lock_timeout = '500ms'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_is_by_hand boolean := p_sent.transport = 'by_hand';
  v_reason text := coalesce(nullif(current_setting('opsmantik.reason', true), ''), 'UNSTATED');
  v_kind text := coalesce(nullif(current_setting('opsmantik.actor_kind', true), ''), 'system');
  v_actor uuid := nullif(current_setting('opsmantik.actor_id', true), '')::uuid;
  -- One line of the ledger for each state that rows leave.
  v_states text[] := '{PROCESSING,QUEUED,RETRY,FAILED}';
  v_lines bigint[] := array(select private.next_move_id() from generate_series(1, 4));
begin
  with gone as (
    delete from private.queue_open q
      using unnest(p_ids, p_indexes, p_after, p_certain) i (id, index, after, is_certain)
      where q.id = i.id and q.site_id = p_site_id
        and (q.attempt_count > 0 or v_is_by_hand) and (p_token is null or p_token = any (q.claims))
      returning q.*, i.index, i.after, i.is_certain as sent_certainly,
        -- A person entered what the sale is worth; everybody else sends what was handed out.
        coalesce((p_by_hand).id, q.handed_snapshot_id, q.snapshot_id) as sent_snapshot_id,
        coalesce((p_by_hand).amount_cents, q.handed_value_cents, q.value_cents) as sent_cents),
  kept as (
    insert into private.queue_delivered (id, site_id, sale_id, call_id, is_plain, provider_key,
        kind, state, status, order_id, snapshot_id, value_cents, currency, conversion_time,
        conversion_name, conversion_action, click_expires_at, not_before, attempt_count,
        attempt_base, free_waits, claims, identifiers_hash, click_kind, handed_snapshot_id,
        handed_value_cents, handed_values_differ, handed_via, handed_vias_differ,
        may_have_arrived, by_hand_reason, uploaded_at, transport, provider_request_id,
        record_index, is_certain, verdict, verdict_at, created_at, updated_at, claimed_in,
        claimed_from, delivered_in, channel)
      select g.id, g.site_id, g.sale_id, g.call_id, g.is_plain, g.provider_key,
        g.kind, 'COMPLETED', 'COMPLETED', g.order_id, g.sent_snapshot_id, g.sent_cents, g.currency,
        g.conversion_time, g.conversion_name, g.conversion_action, g.click_expires_at,
        g.not_before, g.attempt_count, g.attempt_base, g.free_waits, g.claims, g.identifiers_hash,
        g.click_kind, g.handed_snapshot_id, g.handed_value_cents, g.handed_values_differ,
        g.handed_via, g.handed_vias_differ,
        -- This is the answer to the only hand-out, so none is left open.
        g.may_have_arrived and g.attempt_count > 1,
        g.by_hand_reason,
        -- After the newest that is known of the sale, also when this transaction began before
        -- another that it waited for (assume_arrival), so that what Google has is read from it.
        greatest(v_now, g.after + interval '1 microsecond'),
        p_sent.transport, p_sent.request_id, g.index,
        coalesce(g.sent_certainly, true),
        p_sent.verdict, case when p_sent.verdict is not null then v_now end,
        g.created_at, v_now, g.claimed_in, g.claimed_from,
        v_lines[array_position(v_states, g.status)], g.channel
      from gone g),
  sums as materialized (
    select g.provider_key, g.status, g.state, g.currency,
      case g.state when 'FAILED' then g.provider_error_code else '' end as code,
      case g.state when 'FAILED' then g.provider_error_category else '' end as category,
      private.hour_of(g.created_at) as hour,
      count(*) as n, sum(g.value_cents) as value_cents, sum(g.sent_cents) as sent_cents
    from gone g group by 1, 2, 3, 4, 5, 6, 7),
  counted as (
    insert into private.queue_count_deltas (site_id, provider_key, state, currency, code,
        category, row_count, value_cents, hour, outcome_count, outcome_at)
      select p_site_id, s.provider_key, s.state, s.currency, s.code, s.category, -s.n,
        -s.value_cents, s.hour, 0, null from sums s
      union all
      select p_site_id, s.provider_key, 'COMPLETED', s.currency, '', '', s.n, s.sent_cents, s.hour,
        s.n, v_now
      from sums s),
  asked as (
    insert into public.provider_requests as r (site_id, request_id, provider_key, pipeline,
        row_count, row_ids, customer_id, sent_at, next_poll_at)
      select p_site_id, p_sent.request_id, g.provider_key, 'seals', cardinality(p_ids),
        array_agg(g.id), p_sent.customer_id, v_now,
        v_now + make_interval(secs => coalesce(p_sent.first_poll_seconds, 1800))
      from gone g
      where p_sent.transport = 'data_manager' and p_sent.request_id is not null
        and p_sent.verdict is null
      group by g.provider_key
      on conflict (site_id, request_id) do update   -- the rest of a batch: Google is asked again
        set row_ids = r.row_ids || excluded.row_ids, finished_at = null,
            next_poll_at = coalesce(r.next_poll_at, excluded.next_poll_at)),
  recorded as (
    insert into private.queue_batch_moves (id, site_id, from_status, to_status, reason, actor_kind,
        actor_id, created_at)
      select v_lines[array_position(v_states, s.status)], p_site_id, s.status, 'COMPLETED',
        v_reason, v_kind, v_actor, v_now
      from sums s group by s.status)
  select coalesce(sum(s.n), 0), array(select g.id from gone g) into moved, row_ids from sums s;
end
$$;
