-- move_conversion: moves a row of the queue through the contract endpoint and gives it all its
-- attempts again.
--   Moves    FAILED/RETRY/QUEUED/PROCESSING -> QUEUED, QUEUED/RETRY/PROCESSING -> FAILED.
--            COMPLETED never changes.
--   Takes    p_args {id, to, reason?, requestHash?}. Codes of one's own and cleared errors are for
--            OCI Control's actions.
--   Refuses  409 with the judge's reason. What waits for a person is ILLEGAL_MOVE here and may only
--            be given up; OCI Control asks first.
create function private.move_conversion(
  p_site public.sites, p_actor private.actor, p_args jsonb
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_row public.offline_conversion_queue;
  v_to text := p_args ->> 'to';
  v_version text;
  v_why text;
  v_proof_id uuid;
begin
  perform private.lock_with_sales(
    private.of_this_site(p_site.id, array[(p_args ->> 'id')::uuid]));
  select q.* into v_row from public.offline_conversion_queue q
    where q.id = (p_args ->> 'id')::uuid and q.site_id = p_site.id;
  if v_row.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  v_version := private.require_move('conversion', v_row.status, v_to);
  select j.skipped into v_why from private.judge_queue_rows(p_site.id,
    case v_to when 'FAILED' then 'MARK_FAILED' else 'RESET_TO_QUEUED' end,
    null, array[v_row.id], null) j;
  if v_why in ('SALE_CANCELLED', 'ALREADY_QUEUED') then
    perform private.fail(409, v_why);
  elsif v_why is not null then
    perform private.fail(409, 'ILLEGAL_MOVE', jsonb_build_object(
      'from', v_row.status,
      'to', v_to,
      'contract_version', v_version,
      'allowed', case v_why when 'BY_HAND' then '["FAILED"]'::jsonb else '[]' end));
  end if;
  perform private.act(p_actor, case
    when v_to = 'FAILED' then 'MARK_FAILED'
    when v_row.status in ('FAILED', 'RETRY') then 'RETRY_SELECTED'
    else 'RESET_TO_QUEUED' end);
  update public.offline_conversion_queue q
    set state = v_to, status = v_to, tries = q.attempt_count, claimed_at = null,
        claim_token = null, next_retry_at = null,
        updated_at = v_now, is_plain = q.is_plain and q.attempt_count = 0,
        attempt_base = case v_to when 'QUEUED' then q.attempt_count else q.attempt_base end,
        may_have_arrived = q.may_have_arrived or q.status = 'PROCESSING',
        provider_error_code =
          case when v_to = 'FAILED' then 'MANUAL_FAIL' else q.provider_error_code end,
        provider_error_category =
          case v_to when 'FAILED' then 'PERMANENT' else q.provider_error_category end,
        last_error = case v_to
          when 'FAILED' then left(coalesce(p_args ->> 'reason', 'MANUALLY_MARKED_FAILED'), 1024)
          else q.last_error end
    where q.id = v_row.id;
  if v_row.status = 'PROCESSING' then
    -- It may have arrived, and the sale may have been cancelled meanwhile.
    perform private.follow_ledger(v_row.sale_id);
  end if;
  v_proof_id := private.prove(p_site.id, p_actor, jsonb_build_object(
    'contract', 'conversion',
    'contractVersion', v_version,
    'entityId', v_row.id,
    'from', v_row.status,
    'to', v_to,
    'note', p_args ->> 'reason',
    'requestHash', p_args ->> 'requestHash',
    'facts', jsonb_build_object('saleId', v_row.sale_id, 'attemptCount', v_row.attempt_count)));
  return jsonb_build_object(
    'ok', true,
    'from', v_row.status,
    'to', v_to,
    'contract_version', v_version,
    'proof_id', v_proof_id);
end
$$;
