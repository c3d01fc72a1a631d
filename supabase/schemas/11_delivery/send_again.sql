-- send_again: an operator sends again what Google rejected or gave no verdict on. Queues a new row
-- with the same order id, and the same action where Google may have it: if it took the first
-- one after all, it counts once.
--   Takes    p_id: the row whose dispatch was rejected, or is UNKNOWN.
--   Safe     to repeat: while one waits, that one is given.
--   Returns  {ok, rowId}.
--   Refuses  409 ILLEGAL_MOVE for a row of which Google said something else, or nothing yet, or
--            when the sale no longer needs this.
--   Callers  operators.
create function public.send_again(p_public_id text, p_id uuid) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_row public.offline_conversion_queue;
  v_why text;
  v_sent uuid;
begin
  perform private.lock_with_sales(private.of_this_site(v_site.id, array[p_id]));
  select q.* into v_row from public.offline_conversion_queue q
    where q.id = p_id and q.site_id = v_site.id;
  if v_row.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  select j.skipped into v_why
    from private.judge_queue_rows(v_site.id, 'SEND_AGAIN', null, array[p_id], null) j;
  if v_why is null then
    perform private.act(private.user_actor(), 'SEND_AGAIN');
    perform private.follow_ledger(v_row.sale_id, v_row.kind);
  end if;
  if v_why is null or v_why = 'ALREADY_QUEUED' then
    v_sent := private.open_row(v_row);
  end if;
  if v_sent is null then
    perform private.fail(409, 'ILLEGAL_MOVE', jsonb_build_object(
      'from', v_row.status,
      'to', 'QUEUED',
      'allowed', '[]'::jsonb));
  end if;
  if v_why is null then
    perform private.prove(v_site.id, private.user_actor(), jsonb_build_object(
      'contract', 'conversion',
      'contractVersion', (
        select c.contract_version from public.contracts c where c.contract = 'conversion'),
      'entityId', v_sent,
      'to', 'QUEUED',
      'facts', jsonb_build_object('saleId', v_row.sale_id, 'sendsAgain', v_row.id)));
  end if;
  return jsonb_build_object('ok', true, 'rowId', v_sent);
end
$$;
grant execute on function public.send_again(text, uuid) to authenticated;

-- why_not_again: why send_again queues no row for this one, as the judge says it; null if it does.
create function private.why_not_again(p_row public.offline_conversion_queue) returns text
language sql stable security definer set search_path = ''
as $$
  select case
    when not private.is_in_doubt(p_row) then 'ILLEGAL_MOVE'
    when private.open_row(p_row) is not null then 'ALREADY_QUEUED'
    when not private.may_send(s, p_row.kind)
      -- Google no longer takes the adjustment.
      or p_row.kind <> 'CONVERSION' and p_row.click_expires_at <= private.current_moment()
      or private.needed_kind(s, d, p_row.kind) is distinct from p_row.kind
      then 'ILLEGAL_MOVE' end
  from public.sales s
    left join private.standing_dispatches d
      on d.sale_id = s.id and d.provider_key = p_row.provider_key
  where s.id = p_row.sale_id
$$;

-- is_in_doubt: whether Google rejected what this row sent, or gave no verdict on it and has nothing
-- newer of the sale.
create function private.is_in_doubt(p_row public.offline_conversion_queue) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (select from public.provider_dispatches d
      where d.sale_id = p_row.sale_id and d.queue_id = p_row.id and d.verdict = 'REJECTED')
    or p_row.status = 'COMPLETED' and exists (select from private.standing_dispatches d
      where d.sale_id = p_row.sale_id and d.provider_key = p_row.provider_key
        and d.queue_id = p_row.id and d.verdict = 'UNKNOWN')
$$;

-- open_row: the row of the same sale and kind that waits or is in flight.
create function private.open_row(p_row public.offline_conversion_queue) returns uuid
language sql stable security definer set search_path = ''
as $$
  select q.id from public.offline_conversion_queue q
  where q.sale_id = p_row.sale_id and q.provider_key = p_row.provider_key and q.kind = p_row.kind
    and q.state = any (private.waiting_states())
$$;
