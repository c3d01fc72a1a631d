-- Answers: the outcomes of rows that were handed out.

-- complete_rows: Google has these. Called with their sales locked.
--   Moves    any but COMPLETED -> COMPLETED, if the row was ever handed out (or a person did it by
--            hand): a success that comes after a recovery, a cap or an operator's reset is still a
--            success.
--   Takes    p_done [{id, requestId?, transport?, recordIndex?, verdict?}]; p_transport for those
--            that name none; p_token: a claim under which each row must have been handed out once,
--            null for any; p_first_poll_seconds: when Data Manager is first asked for its verdict;
--            p_customer_id: the account that they were sent to.
--   Writes   what deliver_rows does, then brings the queue in line with what the sale is worth by
--            now.
--   Returns  how many rows moved.
create function private.complete_rows(
  p_site_id uuid, p_done jsonb, p_transport text, p_token uuid default null,
  p_first_poll_seconds int default null, p_customer_id text default null
) returns int
language plpgsql security definer set search_path = '' set enable_seqscan = off
as $$
declare
  v_group record;
  v_moved record;
  v_known record;
  v_by_hand public.revenue_snapshots;
  v_count int := 0;
  v_rows uuid[] := '{}';
  v_changed uuid[];
  v_unblocked uuid[];
  v_sale_id uuid;
begin
  for v_group in
    select array_agg(g.id) as ids, array_agg(g."recordIndex") as indexes,
      coalesce(g.transport, p_transport) as transport, left(g."requestId", 256) as request_id,
      g.verdict
    from jsonb_to_recordset(p_done)
      g (id uuid, "requestId" text, transport text, "recordIndex" int, verdict text)
    group by 3, 4, 5 order by 4   -- as everybody locks requests
  loop
    perform from private.queue_open q where q.id = any (v_group.ids) order by q.id for update;
    if v_group.transport = 'by_hand' then   -- one row
      v_by_hand := (select private.newest_snapshot(q.sale_id) from private.queue_open q
        where q.id = v_group.ids[1]);
    end if;
    -- Which value Google kept is certain if only one was sent, or if Google confirms it.
    select array_agg((select max(d.dispatched_at) from public.provider_dispatches d
        where d.sale_id = q.sale_id) order by i.place) as after,
      array_agg(v_group.transport = 'by_hand' or not q.handed_values_differ and (
        v_group.verdict is not distinct from 'CONFIRMED' or q.kind <> 'CONVERSION'
        or not exists (select from public.provider_dispatches d where d.sale_id = q.sale_id
          and d.kind = 'CONVERSION'
          and d.value_cents <> coalesce(q.handed_value_cents, q.value_cents)))
        order by i.place) as is_certain
      into v_known
      from unnest(v_group.ids) with ordinality i (id, place)
        left join private.queue_open q on q.id = i.id;
    v_moved := private.deliver_rows(p_site_id, v_group.ids, v_group.indexes,
      (v_group.transport, v_group.request_id, v_group.verdict, p_first_poll_seconds,
        p_customer_id)::private.sent, p_token, v_by_hand, v_known.after, v_known.is_certain);
    v_count := v_count + v_moved.moved;
    v_rows := v_rows || v_moved.row_ids;
  end loop;
  -- Most sales are worth what was sent, with nothing else waiting: follow_ledger is skipped for
  -- them.
  select array_agg(distinct q.sale_id) filter (where q.kind = 'RETRACT' or not q.is_certain
        or s.status <> 'CONFIRMED' or s.amount_cents <> q.value_cents
        or exists (select from private.queue_open o where o.sale_id = q.sale_id
          and o.claim_token is null
          and (o.state = any (private.waiting_states()) or o.next_retry_at is not null))),
      array_agg(distinct q.sale_id) filter (where s.delivery_block is not null)
    into v_changed, v_unblocked
    from private.queue_delivered q join public.sales s on s.id = q.sale_id
    where q.id = any (v_rows);
  -- It arrived although consent was withdrawn meanwhile: changes of the sale must be sent.
  if v_unblocked is not null then
    update public.sales s set delivery_block = null, updated_at = private.current_moment()
      where s.id = any (v_unblocked);
    perform private.forget_identifiers(v_unblocked);
  end if;
  foreach v_sale_id in array coalesce(v_changed, '{}') loop
    perform private.follow_ledger(v_sale_id);
  end loop;
  return v_count;
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
  perform private.complete_rows(v_site.id,
    jsonb_build_array(jsonb_build_object('id', v_row.id)), 'by_hand');
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
