-- Answers: the outcomes of rows that were handed out.

-- complete_rows: Google has these. Called with their sales locked.
--   Moves    any but COMPLETED -> COMPLETED, if the row was ever handed out (or a person did it by
--            hand): a success that comes after a recovery, a cap or an operator's reset is still a
--            success. Clears errors; the row says from now on what was delivered.
--   Takes    p_done [{id, requestId?, transport?, recordIndex?, verdict?}]; p_transport for those
--            that name none; p_token: a claim under which each row must have been handed out once,
--            null for any; p_first_poll_seconds: when Data Manager is first asked for its verdict;
--            p_customer_id: the account that they were sent to.
--   Writes   the dispatch with what was handed out, the requests to ask for verdicts, then brings
--            the queue in line with what the sale is worth by now.
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
    select g.id, left(g."requestId", 256) as request_id,
      coalesce(g.transport, p_transport) as transport, g."recordIndex" as record_index, g.verdict
    from jsonb_to_recordset(p_done)
      g (id uuid, "requestId" text, transport text, "recordIndex" int, verdict text)),
  done as (
    update public.offline_conversion_queue q
      set status = 'COMPLETED', uploaded_at = v_now, provider_request_id = i.request_id,
          claimed_at = null, claim_token = null, next_retry_at = null, updated_at = v_now,
          last_error = null, provider_error_code = null, provider_error_category = null,
          attempt_error = null, attempt_error_code = null, attempt_error_category = null,
          -- This is the answer to the only hand-out, so none is left open.
          may_have_arrived = q.may_have_arrived and q.attempt_count > 1,
          -- A person entered what the sale is worth; everybody else sends what was handed out.
          snapshot_id = case i.transport
            when 'by_hand' then (private.newest_snapshot(q.sale_id)).id
            else coalesce(q.handed_snapshot_id, q.snapshot_id) end,
          value_cents = case i.transport
            when 'by_hand' then (private.newest_snapshot(q.sale_id)).amount_cents
            else coalesce(q.handed_value_cents, q.value_cents) end
      from given i
      where q.id = i.id and q.status <> 'COMPLETED'
        and (q.attempt_count > 0 or i.transport = 'by_hand')
        and (p_token is null or p_token = any (q.claims))
      returning q.*, i.transport, i.record_index, i.verdict,
        -- Which value Google kept is certain if only one was sent, or if Google confirms it.
        i.transport = 'by_hand' or not q.handed_values_differ and (
          i.verdict is not distinct from 'CONFIRMED' or q.kind <> 'CONVERSION'
          or not exists (select from public.provider_dispatches x where x.sale_id = q.sale_id
            and x.kind = 'CONVERSION' and x.value_cents <> q.value_cents)) as is_certain),
  told as (
    insert into public.provider_dispatches (site_id, queue_id, sale_id, snapshot_id, kind,
        provider_key, transport, order_id, conversion_name, conversion_action, conversion_time,
        value_cents, currency, identifiers_hash, click_kind, is_certain, provider_request_id,
        record_index, dispatched_at, verdict, verdict_at)
      select d.site_id, d.id, d.sale_id, d.snapshot_id, d.kind,
        d.provider_key, d.transport, d.order_id, d.conversion_name, d.conversion_action,
        d.conversion_time, d.value_cents, d.currency,
        case when d.transport <> 'by_hand' then d.identifiers_hash end,
        case when d.transport <> 'by_hand' then d.click_kind end,
        d.is_certain, d.provider_request_id, d.record_index, v_now,
        d.verdict, case when d.verdict is not null then v_now end
      from done d),
  asked as (
    insert into public.provider_requests (site_id, request_id, provider_key, pipeline, row_count,
        customer_id, sent_at, next_poll_at)
      select d.site_id, d.provider_request_id, d.provider_key, 'seals',
        (select count(*) from given g where g.request_id = d.provider_request_id), p_customer_id,
        v_now, v_now + make_interval(secs => coalesce(p_first_poll_seconds, 1800))
      from done d
      where d.transport = 'data_manager' and d.provider_request_id is not null and d.verdict is null
      group by d.site_id, d.provider_request_id, d.provider_key
      on conflict (site_id, request_id) do nothing)
  -- Most sales are worth what was sent, with nothing else waiting: follow_ledger is skipped for
  -- them (a third of an ack's time).
  select count(*),
      array_agg(distinct d.sale_id) filter (where d.kind = 'RETRACT' or not d.is_certain
        or s.status <> 'CONFIRMED' or s.amount_cents <> d.value_cents
        or exists (select from public.offline_conversion_queue o
          where o.sale_id = d.sale_id and o.id <> d.id
            and (o.status = any (private.waiting_states()) or o.next_retry_at is not null))),
      array_agg(distinct d.sale_id) filter (where s.delivery_block is not null)
    into v_moved, v_changed, v_unblocked from done d join public.sales s on s.id = d.sale_id;
  -- It arrived although consent was withdrawn meanwhile: changes of the sale must be sent.
  if v_unblocked is not null then
    update public.sales s set delivery_block = null, updated_at = v_now
      where s.id = any (v_unblocked);
    perform private.forget_identifiers(v_unblocked);
  end if;
  foreach v_sale_id in array coalesce(v_changed, '{}') loop
    perform private.follow_ledger(v_sale_id);
  end loop;
  return v_moved;
end
$$;

-- complete_adjustment_by_hand: where no script and no API corrects a conversion, a person does it
-- in Google Ads and says so here.
--   Takes    p_done {id, valueCents}: the row and the value that was entered. A value
--            other than the sale's current one is refused.
--   Moves    QUEUED/RETRY -> COMPLETED, of a RESTATE or RETRACT that waits for a person. FAILED ->
--            COMPLETED as well, of a retraction that holds back another sale of the lead, at any
--            age: nothing else would ever release that one.
--   Safe     to repeat.
--   Refuses  409 STALE_VERSION with the value it should be; 409 ILLEGAL_MOVE for a conversion, an
--            adjustment that an API makes, a row that does not wait, or one that Google no longer
--            takes.
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
  select q.* into v_row from public.offline_conversion_queue q
    where q.id = (p_done ->> 'id')::uuid and q.site_id = v_site.id;
  if v_row.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if v_row.status = 'COMPLETED' and v_row.value_cents = (p_done ->> 'valueCents')::bigint then
    return jsonb_build_object('ok', true);
  end if;
  v_holds := v_row.kind = 'RETRACT' and exists (select from private.held_sales h
    join public.sales s on s.id = h.sale_id and s.status = 'CONFIRMED'
    where h.by_row_id = v_row.id);
  if not (private.waits_for_person(
         v_row.kind, v_row.status, v_row.by_hand_reason, v_site.oci_sync_method)
       or v_row.status = 'FAILED' and v_holds)
     or v_row.click_expires_at <= private.current_moment() and not v_holds
     or (v_row.kind = 'RETRACT') <> exists (select from public.sales s
       where s.id = v_row.sale_id and s.status = 'CANCELED') then
    perform private.fail(409, 'ILLEGAL_MOVE', jsonb_build_object(
      'from', v_row.status,
      'to', 'COMPLETED',
      'allowed', '[]'::jsonb));
  end if;
  v_newest := private.newest_snapshot(v_row.sale_id);
  if v_newest.amount_cents is distinct from (p_done ->> 'valueCents')::bigint then
    perform private.fail(409, 'STALE_VERSION', jsonb_build_object(
      'status', v_row.status,
      'amountCents', v_newest.amount_cents,
      'currency', v_row.currency));
  end if;
  perform private.act(private.user_actor(), 'DONE_BY_HAND');
  perform private.complete_rows(jsonb_build_array(jsonb_build_object('id', v_row.id)), 'by_hand');
  v_proof_id := private.prove(v_site.id, private.user_actor(), jsonb_build_object(
    'contract', 'conversion',
    'contractVersion', (
      select c.contract_version from public.contracts c where c.contract = 'conversion'),
    'entityId', v_row.id,
    'from', v_row.status,
    'to', 'COMPLETED',
    'facts', jsonb_build_object(
      'saleId', v_row.sale_id,
      'kind', v_row.kind,
      'valueCents', v_newest.amount_cents,
      'byHand', true)));
  return jsonb_build_object('ok', true, 'proof_id', v_proof_id);
end
$$;
grant execute on function public.complete_adjustment_by_hand(text, jsonb) to authenticated;
