-- Verdicts: what Google says later of what it accepted. Data Manager takes a request at once and
-- decides about each conversion afterwards; we ask for it until it has. A row stays COMPLETED
-- whatever the verdict is: the dispatch carries it, and the queue follows.

-- follow_rejection: Google did not take a dispatch of this sale. Called with the sale locked.
--   Takes    p_is_retryable: Google says that the same may work later. It is queued again with the
--            same order id, at most until the fifth rejection of this kind; everything else waits
--            for send_again.
--   Returns  whether it was queued again.
create function private.follow_rejection(
  p_sale_id uuid, p_kind text, p_is_retryable boolean, p_reason text
) returns boolean
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_rejections int;
begin
  -- Consent was withdrawn while Google was deciding: the identifiers are erased, but the sale was
  -- not blocked, because Google seemed to have it.
  update public.sales s set delivery_block = 'NO_CONSENT', updated_at = v_now
    where s.id = p_sale_id and s.delivery_block is null
      and coalesce(s.gclid, s.wbraid, s.gbraid) is null
      and not exists (select from private.standing_dispatches d where d.sale_id = s.id);
  select count(*) into v_rejections from public.provider_dispatches d
    where d.sale_id = p_sale_id and d.kind = p_kind and d.verdict = 'REJECTED';
  p_is_retryable := coalesce(p_is_retryable, false) and v_rejections < 5;
  perform private.follow_ledger(p_sale_id, case when p_is_retryable then p_kind end,
    v_now + case when p_reason like '%TOO_RECENT%' then interval '6 hours'
      else private.retry_delay(v_rejections) end);
  return p_is_retryable and exists (select from public.offline_conversion_queue q
    where q.sale_id = p_sale_id and q.kind = p_kind
      and q.state = any (private.waiting_states()) and q.claim_token is null);
end
$$;

-- note_poll: what a request's poll came to: it is finished, or when it is asked for next.
--   Takes    p_answer as record_verdicts; p_row_ids: the rows that the answer was recorded for.
create function private.note_poll(
  p_site_id uuid, p_request_id text, p_answer jsonb, p_row_ids uuid[]
) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_is_final boolean := p_answer ->> 'status' is distinct from 'PROCESSING';
begin
  update public.provider_requests r
    set status = p_answer ->> 'status',
        finished_at = coalesce(r.finished_at,
          case when v_is_final and r.row_ids = p_row_ids then v_now end),
        next_poll_at = case
          when r.finished_at is null and not v_is_final
            then coalesce((p_answer ->> 'nextPollAt')::timestamptz, r.next_poll_at)
          when r.row_ids <> p_row_ids then v_now end
    where r.site_id = p_site_id and r.request_id = p_request_id
      and (v_is_final or r.finished_at is null);
end
$$;

-- record_verdicts: what Google says of one request.
--   Takes    p_answer {status PROCESSING|SUCCESS|PARTIAL_SUCCESS|FAILED|LOST, verdicts: [{index,
--            verdict, reason?, retryable?, byClick?}], rest: verdict|null, nextPollAt?}. byClick: a
--            duplicate by its click and time, which is another sale's if ours was never sent
--            before: REJECTED then. Places that are not named get the rest. After a final answer
--            every row has a verdict: UNKNOWN if it is not mentioned.
--   Moves    no row; its updated_at changes, so that screens read it again. A row's verdict is
--            set once; only UNKNOWN changes later. A rejection brings the queue in line: what waits
--            to adjust it is closed, and what Google may take later is queued again.
--   Safe     to repeat, from two pollers at once, and beside whoever changes the sale: the sales
--            are locked by id, and the request last, as the answer of a batch locks them. A part of
--            the batch that is answered meanwhile is not judged: the request stays open and is
--            asked for again at once.
--   Returns  {recorded, rejected, queuedAgain}.
--   Refuses  404 for a request that is not this site's.
--   Callers  service role only.
create function public.record_verdicts(p_site_id uuid, p_request_id text, p_answer jsonb)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_rest text := coalesce(p_answer ->> 'rest',
    case when p_answer ->> 'status' is distinct from 'PROCESSING' then 'UNKNOWN' end);
  v_pipeline text;
  v_row_ids uuid[];
  v_recorded int;
  v_rejected jsonb;
  v_again int := 0;
  v_line record;
begin
  select r.pipeline, r.row_ids into v_pipeline, v_row_ids from public.provider_requests r
    where r.site_id = p_site_id and r.request_id = p_request_id;
  if v_pipeline is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if v_pipeline = 'signals' then
    perform private.note_poll(p_site_id, p_request_id, p_answer, v_row_ids);
    return private.record_signal_verdicts(p_site_id, p_request_id, p_answer -> 'verdicts', v_rest);
  end if;
  perform from public.sales s where s.id in (
      select q.sale_id from private.queue_delivered q where q.id = any (v_row_ids))
    order by s.id for no key update;
  perform private.act(('system', null)::private.actor, 'VERDICT');
  with said as materialized (
    select distinct on (v.index) v.index, v.verdict, v.reason, v.retryable,
      v."byClick" as is_by_click
    from jsonb_to_recordset(p_answer -> 'verdicts')
      v (index int, verdict text, reason text, retryable boolean, "byClick" boolean)
    order by v.index, v.verdict = 'REJECTED' desc, v.retryable),   -- of several, the worst
  judged as (
    update private.queue_delivered q   -- no row moves, so nothing is recorded or counted
      set verdict = case when s.is_by_click and x.kind = 'CONVERSION' and not x.may_have_arrived
              and not exists (select from public.provider_dispatches o
                where o.sale_id = x.sale_id and o.id <> x.id)
            then 'REJECTED' else coalesce(s.verdict, v_rest) end,
          verdict_reason = left(s.reason, 256), verdict_at = v_now,
          is_retryable = coalesce(s.retryable, false), updated_at = v_now
      from private.queue_delivered x left join said s on s.index = x.record_index
      where q.id = x.id and x.id = any (v_row_ids)
        and coalesce(s.verdict, v_rest) is not null
        and (x.verdict is null
          or (x.verdict = 'UNKNOWN' and coalesce(s.verdict, v_rest) <> 'UNKNOWN'))
      returning q.sale_id, q.kind, q.verdict, q.verdict_reason, s.retryable)
  select count(*), coalesce(jsonb_agg(to_jsonb(j) order by j.sale_id)
      filter (where j.verdict = 'REJECTED'), '[]') into v_recorded, v_rejected from judged j;
  for v_line in select * from jsonb_to_recordset(v_rejected)
      l (sale_id uuid, kind text, verdict_reason text, retryable boolean) loop
    v_again := v_again + private.follow_rejection(v_line.sale_id, v_line.kind, v_line.retryable,
      v_line.verdict_reason)::int;
  end loop;
  perform private.note_poll(p_site_id, p_request_id, p_answer, v_row_ids);
  return jsonb_build_object('recorded', v_recorded, 'rejected', jsonb_array_length(v_rejected),
    'queuedAgain', v_again);
end
$$;
grant execute on function public.record_verdicts(uuid, text, jsonb) to opsmantik_app, service_role;

-- record_signal_verdicts: the same for signals. A rejected one is shown and not sent again: the
-- lead's next stage follows it.
create function private.record_signal_verdicts(
  p_site_id uuid, p_request_id text, p_verdicts jsonb, p_rest text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_recorded int;
  v_rejected int;
begin
  with said as materialized (
    select distinct on (v.index) v.index, v.verdict, v.reason, v."byClick" as is_by_click
    from jsonb_to_recordset(p_verdicts)
      v (index int, verdict text, reason text, "byClick" boolean)
    order by v.index, v.verdict = 'REJECTED' desc),
  judged as (
    update public.marketing_signals g
      set verdict = case when s.is_by_click and not x.may_have_arrived then 'REJECTED'
            -- One that was sent before without an answer may count.
            when s.verdict = 'REJECTED' and x.may_have_arrived then 'UNKNOWN'
            else coalesce(s.verdict, p_rest) end,
          verdict_reason = left(s.reason, 256), verdict_at = private.current_moment()
      from public.marketing_signals x left join said s on s.index = x.record_index
      where g.id = x.id and x.site_id = p_site_id and x.provider_request_id = p_request_id
        and coalesce(s.verdict, p_rest) is not null
        and (x.verdict is null
          or (x.verdict = 'UNKNOWN' and coalesce(s.verdict, p_rest) <> 'UNKNOWN'))
      returning g.verdict)
  select count(*), count(*) filter (where j.verdict = 'REJECTED') into v_recorded, v_rejected
    from judged j;
  return jsonb_build_object('recorded', v_recorded, 'rejected', v_rejected, 'queuedAgain', 0);
end
$$;
