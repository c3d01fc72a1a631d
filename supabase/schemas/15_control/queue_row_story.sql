-- OCI Control's drawer: one row's whole story.

-- queue_row_story: everything that is known of one row: the seal, the ledger, each move with who and why, each attempt, what was sent and its verdict.
--   Refuses  404 for a row of another site.
--   Callers  viewers.
create function public.queue_row_story(p_public_id text, p_id uuid, p_max_attempts int) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_row public.offline_conversion_queue;
  v_sale public.sales;
  v_sent public.provider_dispatches;
  v_ids public.dispatch_identifiers;
begin
  select q.* into v_row from public.offline_conversion_queue q where q.id = p_id and q.site_id = v_site.id;
  if v_row.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  select s.* into v_sale from public.sales s where s.id = v_row.sale_id;
  select d.* into v_sent from public.provider_dispatches d where d.sale_id = v_row.sale_id and d.queue_id = v_row.id order by d.dispatched_at desc, d.id desc limit 1;
  if v_sent.id is null then
    select v_sale.gclid, v_sale.wbraid, v_sale.gbraid into v_ids.gclid, v_ids.wbraid, v_ids.gbraid;
  elsif v_sent.identifiers_hash is not null then   -- as handed out, while it is kept
    select i.* into v_ids from public.dispatch_identifiers i where i.queue_id = v_row.id;
  end if;
  return jsonb_build_object('siteId', p_public_id, 'row', private.queue_rows_json(array[v_row], p_max_attempts) -> 0,
    'sale', jsonb_build_object('id', v_sale.id, 'version', v_sale.version, 'status', v_sale.status,
      'amountCents', v_sale.amount_cents, 'currency', v_sale.currency,
      'deliveryBlock', v_sale.delivery_block,
      'adjustableUntil', v_sale.occurred_at + private.adjustments_end(),
      'atGoogle', private.standing_json(v_sale.id)),
    'seal', (select jsonb_build_object('at', r.created_at, 'by', private.actor_json(r.actor_kind, r.actor_id), 'amountCents', r.amount_cents, 'currency', r.currency,
               'valueSource', r.value_source, 'note', v_sale.note)
             from public.revenue_snapshots r where r.sale_id = v_sale.id and r.kind in ('SEAL', 'RESTORE') order by r.sequence desc limit 1),
    'ledger', (select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'kind', r.kind, 'amountCents', r.amount_cents, 'deltaCents', r.delta_cents, 'currency', r.currency,
                 'valueSource', r.value_source, 'by', private.actor_json(r.actor_kind, r.actor_id), 'at', r.created_at) order by r.sequence), '[]')
               from public.revenue_snapshots r where r.sale_id = v_sale.id),
    'dispatches', (select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'kind', d.kind, 'transport', d.transport, 'orderId', d.order_id, 'valueCents', d.value_cents,
                     'currency', d.currency, 'providerRequestId', d.provider_request_id, 'at', d.dispatched_at, 'verdict', d.verdict, 'verdictReason', d.verdict_reason,
                     'verdictAt', d.verdict_at,
                     'nextCheckAt', private.next_verdict_check(d)) order by d.dispatched_at, d.id), '[]')
                   from public.provider_dispatches d where d.sale_id = v_row.sale_id and d.queue_id = v_row.id),
    'payload', jsonb_build_object('sent', v_sent.id is not null, 'orderId', v_row.order_id,
      'conversionName', coalesce(v_sent.conversion_name, v_row.conversion_name,
        private.conversion_name(v_site, 'seal')),
      'conversionTime', coalesce(v_sent.conversion_time, v_row.conversion_time),
      'valueCents', coalesce(v_sent.value_cents, case when v_row.status <> 'PROCESSING'
        and v_row.kind <> 'RETRACT' and v_sale.status = 'CONFIRMED' then v_sale.amount_cents end,
        v_row.value_cents),
      'currency', coalesce(v_sent.currency, v_row.currency),
      'clickKind', case when v_ids.gclid is not null then 'gclid'
        when v_ids.wbraid is not null then 'wbraid' when v_ids.gbraid is not null then 'gbraid' end,
      'clickId', private.masked_click(coalesce(v_ids.gclid, v_ids.wbraid, v_ids.gbraid)),
      'clickForgotten', v_sent.identifiers_hash is not null and v_ids.queue_id is null),
    'proofs', (select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'contract', p.contract, 'from', p.from_state, 'to', p.to_state, 'at', p.occurred_at)
                 order by p.occurred_at, p.id), '[]')
               from (select x.* from public.transition_proofs x where x.entity_id in (v_row.id, v_row.sale_id, v_row.call_id) and x.site_id = v_site.id
                     order by x.occurred_at desc, x.id desc limit 200) p),
    'siblings', private.queue_rows_json(array(select q from public.offline_conversion_queue q where q.sale_id = v_row.sale_id and q.id <> v_row.id order by q.created_at, q.id),
      p_max_attempts),
    'allowedActions', (select coalesce(jsonb_agg(a.action), '[]') from unnest('{RETRY_SELECTED,RESET_TO_QUEUED,MARK_FAILED}'::text[]) a (action)
                       where v_row.status = any (private.action_statuses(a.action))
                         and private.moves_from('conversion', v_row.status)
                           ? case a.action when 'MARK_FAILED' then 'FAILED' else 'QUEUED' end
                         -- An adjustment that Google takes no more can be given up only.
                         and (a.action = 'MARK_FAILED' or v_row.kind = 'CONVERSION'
                           or v_row.click_expires_at > private.current_moment())
                         -- A person's work is given up, or sent by canTryApi.
                         and (a.action = 'MARK_FAILED'
                           or not private.waits_for_person(v_row, v_site.oci_sync_method))),
    -- A person's work that the API may make by now: an operator may try it there once more.
    'canTryApi', v_site.oci_sync_method = 'api' and v_row.status = 'RETRY'
      and v_row.by_hand_reason is not null and not private.api_never_adjusts(v_row.by_hand_reason)
      and v_row.click_expires_at > private.current_moment() and v_sale.delivery_block is null
      and (v_sale.status = 'CANCELED') = (v_row.kind = 'RETRACT'),
    'canSendAgain', private.is_in_doubt(v_row) and private.open_row(v_row) is null
      and private.may_tell(v_sale, v_row.kind) and (v_sale.status = 'CANCELED') = (v_row.kind = 'RETRACT')
      and not exists (select from private.standing_dispatches d
        where d.sale_id = v_row.sale_id and v_row.kind = 'CONVERSION'
          and d.verdict is distinct from 'UNKNOWN'))
    || private.queue_row_moves(v_row.id);
end
$$;
grant execute on function public.queue_row_story(text, uuid, int) to authenticated;

-- next_verdict_check: when Google is asked next what became of a dispatch; null when it said so, or
-- will not.
create function private.next_verdict_check(p_sent public.provider_dispatches) returns timestamptz
language sql stable security definer set search_path = ''
as $$
  select r.next_poll_at from public.provider_requests r
  where p_sent.transport = 'data_manager' and p_sent.verdict is null and r.finished_at is null
    and r.site_id = p_sent.site_id and r.request_id = p_sent.provider_request_id
$$;

-- queue_row_moves: the newest 500 moves of a row, and the attempts among them: each claim with the move that ended it,
-- and with what the ledger of attempts says of its batch, where a worker claimed it.
create function private.queue_row_moves(p_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  with moves as (
    select t.*, lead(t.to_status) over w as next_status, lead(t.created_at) over w as next_at, lead(t.provider_error_code) over w as next_code
    from (select x.* from public.queue_transitions x where x.queue_id = p_id order by x.id desc limit 500) t window w as (order by t.id)),
  batches as materialized (
    select s.created_at as started_at, jsonb_build_object('requestId', f.provider_request_id,
      'durationMs', f.duration_ms, 'claimed', s.claimed_count, 'completed', f.completed_count,
      'failed', f.failed_count, 'retried', f.retry_count, 'errorCode', f.error_code,
      'errorCategory', f.error_category, 'isFinished', f.id is not null) as facts
    from (select unnest(q.claims) as batch_id from public.offline_conversion_queue q
          where q.id = p_id) c
      join public.provider_upload_attempts s on s.batch_id = c.batch_id and s.phase = 'STARTED'
      left join public.provider_upload_attempts f
        on f.batch_id = c.batch_id and f.phase = 'FINISHED')
  select jsonb_build_object(
    'transitions', coalesce(jsonb_agg(jsonb_build_object('from', m.from_status, 'to', m.to_status, 'reason', m.reason, 'by', private.actor_json(m.actor_kind, m.actor_id),
      'attemptCount', m.attempt_count, 'errorCode', m.provider_error_code, 'at', m.created_at,
      'note', (select n.note from public.transition_proofs p join private.proof_notes n on n.proof_id = p.id
               where p.entity_id = p_id and p.occurred_at = m.created_at and p.to_state = m.to_status limit 1)) order by m.id), '[]'),
    'attempts', coalesce(jsonb_agg(jsonb_build_object('number', m.attempt_count, 'by', private.actor_json(m.actor_kind, m.actor_id), 'startedAt', m.created_at, 'endedAt', m.next_at,
      'durationMs', round(extract(epoch from m.next_at - m.created_at) * 1000), 'outcome', m.next_status, 'errorCode', m.next_code,
      'batch', (select b.facts from batches b where b.started_at = m.created_at limit 1)) order by m.id)
      filter (where m.to_status = 'PROCESSING' and m.from_status <> 'PROCESSING'), '[]'))
  from moves m
$$;
