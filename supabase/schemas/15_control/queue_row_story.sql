-- OCI Control's drawer: one row's whole story. Its parts are plpgsql, which keeps their plans:
-- planning them each time took longer than reading.

-- queue_row_story: everything that is known of one row: the seal, the ledger, each move with who
-- and why, each attempt, what was sent and its verdict, and what an operator may do with it.
--   Refuses  404 for a row of another site.
--   Callers  viewers.
create function public.queue_row_story(p_public_id text, p_id uuid, p_max_attempts int)
returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_row public.offline_conversion_queue;
  v_sale public.sales;
begin
  select q.* into v_row from public.offline_conversion_queue q
    where q.id = p_id and q.site_id = v_site.id;
  if v_row.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  select s.* into v_sale from public.sales s where s.id = v_row.sale_id;
  return jsonb_build_object(
      'siteId', p_public_id,
      'row', private.queue_rows_json(array[v_row], p_max_attempts) -> 0,
      'sale', jsonb_build_object(
        'id', v_sale.id,
        'version', v_sale.version,
        'status', v_sale.status,
        'amountCents', v_sale.amount_cents,
        'currency', v_sale.currency,
        'deliveryBlock', v_sale.delivery_block,
        'adjustableUntil', v_sale.occurred_at + private.adjustments_end(),
        'atGoogle', private.standing_json(v_sale.id),
        'undo', private.undo_sale_json(v_sale)),
      'dispatches', (
        select coalesce(jsonb_agg(private.dispatch_json(d) order by d.dispatched_at, d.id), '[]')
        from public.provider_dispatches d
        where d.sale_id = v_row.sale_id and d.queue_id = v_row.id),
      'payload', private.payload_json(v_row, v_sale, private.conversion_name(v_site, 'seal')),
      'proofs', (
        select coalesce(jsonb_agg(jsonb_build_object(
            'id', p.id,
            'contract', p.contract,
            'from', p.from_state,
            'to', p.to_state,
            'at', p.occurred_at)
          order by p.occurred_at, p.id), '[]')
        from (
          select x.* from public.transition_proofs x
          where x.entity_id in (v_row.id, v_row.sale_id, v_row.call_id) and x.site_id = v_site.id
          order by x.occurred_at desc, x.id desc limit 200) p),
      'siblings', private.queue_rows_json(array(
        select q from public.offline_conversion_queue q
        where q.sale_id = v_row.sale_id and q.id <> v_row.id
        order by q.created_at, q.id), p_max_attempts))
    || private.ledger_json(v_sale)
    || private.row_choices(v_site.id, v_row.id)
    || private.queue_row_moves(v_row.id);
end
$$;
grant execute on function public.queue_row_story(text, uuid, int) to authenticated;

-- row_choices: what else an operator may do with a row now, as the judge says it.
--   Returns  {canTryApi, canSendAgain}. canTryApi: it waits for a person, and an
--            API may be able to make it now, so an operator may try that once more (overApi).
create function private.row_choices(p_site_id uuid, p_id uuid) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
  with judged as materialized (
    select c.*, j.skipped
    from (values
        (1, 'RETRY_SELECTED', false), (2, 'RETRY_SELECTED', true), (3, 'SEND_AGAIN', false)
      ) c (place, action, over_api)
      cross join lateral private.judge_queue_rows(
        p_site_id, c.action, null, array[p_id], null, c.over_api) j)
  select jsonb_build_object(
    'canTryApi', bool_or(j.place = 1 and j.skipped is not distinct from 'BY_HAND')
      and bool_or(j.place = 2 and j.skipped is null),
    'canSendAgain', bool_or(j.place = 3 and j.skipped is null))
  from judged j);
end
$$;

-- ledger_json: the newest seal of a sale, and each of its snapshots.
create function private.ledger_json(p_sale public.sales) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
  select jsonb_build_object(
    'seal', (array_agg(r.line - '{id,kind,deltaCents}'::text[] || jsonb_build_object(
        'note', private.readable_note(p_sale.site_id, p_sale.note)) order by r.sequence desc)
      filter (where r.kind in ('SEAL', 'RESTORE')))[1],
    'ledger', coalesce(jsonb_agg(r.line order by r.sequence), '[]'))
  from (
    select x.kind, x.sequence, jsonb_build_object(
      'id', x.id,
      'kind', x.kind,
      'amountCents', x.amount_cents,
      'deltaCents', x.delta_cents,
      'currency', x.currency,
      'valueSource', x.value_source,
      'by', private.actor_json(x.actor_kind, x.actor_id, x.created_at),
      'at', x.created_at) as line
    from public.revenue_snapshots x where x.sale_id = p_sale.id) r);
end
$$;

-- payload_json: what was sent of a row, or would be now, with the click id masked.
--   Takes    p_name: what the site calls a sale in Google Ads now.
create function private.payload_json(
  p_row public.offline_conversion_queue, p_sale public.sales, p_name text
) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
  select jsonb_build_object(
    'sent', d.id is not null,
    'orderId', p_row.order_id,
    'conversionName', coalesce(d.conversion_name, p_row.conversion_name, p_name),
    'conversionTime', coalesce(d.conversion_time, p_row.conversion_time),
    'valueCents', coalesce(d.value_cents,
      case when p_row.status <> 'PROCESSING' and p_row.kind <> 'RETRACT'
        and p_sale.status = 'CONFIRMED' then p_sale.amount_cents end,
      p_row.value_cents),
    'currency', coalesce(d.currency, p_row.currency),
    'clickKind', case
      when c.gclid is not null then 'gclid'
      when c.gbraid is not null then 'gbraid'
      when c.wbraid is not null then 'wbraid' end,
    'clickId', private.masked_click(coalesce(c.gclid, c.gbraid, c.wbraid)),
    'clickForgotten', d.identifiers_hash is not null and i.queue_id is null)
  from (values (1)) one
    left join lateral (
      select x.* from public.provider_dispatches x
      where x.sale_id = p_row.sale_id and x.queue_id = p_row.id
      order by x.dispatched_at desc, x.id desc limit 1) d on true
    -- As handed out, while it is kept.
    left join public.dispatch_identifiers i
      on i.queue_id = p_row.id and d.identifiers_hash is not null
    cross join lateral (
      select
        case when d.id is null then p_sale.gclid else i.gclid end as gclid,
        case when d.id is null then p_sale.wbraid else i.wbraid end as wbraid,
        case when d.id is null then p_sale.gbraid else i.gbraid end as gbraid) c);
end
$$;

-- dispatch_json: what was handed to Google, and what it says of it.
create function private.dispatch_json(p_sent public.provider_dispatches) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'id', p_sent.id,
    'kind', p_sent.kind,
    'transport', p_sent.transport,
    'orderId', p_sent.order_id,
    'valueCents', p_sent.value_cents,
    'currency', p_sent.currency,
    'providerRequestId', p_sent.provider_request_id,
    'at', p_sent.dispatched_at,
    'verdict', p_sent.verdict,
    'verdictReason', p_sent.verdict_reason,
    'verdictAt', p_sent.verdict_at,
    'nextCheckAt', private.next_verdict_check(p_sent))
$$;

-- next_verdict_check: when Google is next asked for a dispatch's verdict; null when it gave one, or
-- never will.
create function private.next_verdict_check(p_sent public.provider_dispatches) returns timestamptz
language sql stable security definer set search_path = ''
as $$
  select r.next_poll_at from public.provider_requests r
  where p_sent.transport = 'data_manager' and p_sent.verdict is null and r.finished_at is null
    and r.site_id = p_sent.site_id and r.request_id = p_sent.provider_request_id
$$;

-- queue_row_moves: the newest 500 moves of a row, and the attempts among them: each claim with the
-- move that ended it, and what the ledger of attempts says of its batch if a worker claimed it.
create function private.queue_row_moves(p_id uuid) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
  with moves as (
    select t.*, lead(t.to_status) over w as next_status, lead(t.created_at) over w as next_at,
      lead(t.provider_error_code) over w as next_code
    from (
      select x.* from public.queue_transitions x where x.queue_id = p_id
      order by x.id desc limit 500) t
    window w as (order by t.id)),
  batches as materialized (
    select s.created_at as started_at, jsonb_build_object(
      'requestId', f.provider_request_id,
      'durationMs', f.duration_ms,
      'claimed', s.claimed_count,
      'completed', f.completed_count,
      'failed', f.failed_count,
      'retried', f.retry_count,
      'errorCode', f.error_code,
      'errorCategory', f.error_category,
      'isFinished', f.id is not null) as facts
    from (
      select unnest(q.claims) as batch_id from public.offline_conversion_queue q
      where q.id = p_id) c
      join public.provider_upload_attempts s on s.batch_id = c.batch_id and s.phase = 'STARTED'
      left join public.provider_upload_attempts f
        on f.batch_id = c.batch_id and f.phase = 'FINISHED')
  select jsonb_build_object(
    'transitions', coalesce(jsonb_agg(jsonb_build_object(
        'from', m.from_status,
        'to', m.to_status,
        'reason', m.reason,
        'by', private.actor_json(m.actor_kind, m.actor_id, m.created_at),
        'attemptCount', m.attempt_count,
        'errorCode', m.provider_error_code,
        'at', m.created_at,
        'note', (
          select private.readable_note(p.site_id, n.note) from public.transition_proofs p
            join private.proof_notes n on n.proof_id = p.id
          where p.entity_id = p_id and p.occurred_at = m.created_at and p.to_state = m.to_status
          limit 1))
      order by m.id), '[]'),
    'attempts', coalesce(jsonb_agg(jsonb_build_object(
        'number', m.attempt_count,
        'by', private.actor_json(m.actor_kind, m.actor_id, m.created_at),
        'startedAt', m.created_at,
        'endedAt', m.next_at,
        'durationMs', round(extract(epoch from m.next_at - m.created_at) * 1000),
        'outcome', m.next_status,
        'errorCode', m.next_code,
        'batch', (select b.facts from batches b where b.started_at = m.created_at limit 1))
      order by m.id)
      filter (where m.to_status = 'PROCESSING' and m.from_status <> 'PROCESSING'), '[]'))
  from moves m);
end
$$;
