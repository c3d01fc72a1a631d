-- move_conversion: what an operator may do with a row of the queue. A fresh budget of attempts comes with it.
--   Moves    FAILED/RETRY/QUEUED/PROCESSING -> QUEUED, QUEUED/RETRY/PROCESSING -> FAILED. COMPLETED never changes.
--   Takes    p_args {id, to, reason?, requestHash?}. Codes of one's own and cleared errors are for OCI Control's actions.
create function private.move_conversion(p_site public.sites, p_actor private.actor, p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_row public.offline_conversion_queue;
  v_to text := p_args ->> 'to';
  v_version text;
  v_proof_id uuid;
begin
  -- The sale first, as everywhere: it must not be cancelled between the look at it below and our commit.
  perform from public.sales s join public.offline_conversion_queue q on q.sale_id = s.id
    where q.id = (p_args ->> 'id')::uuid and q.site_id = p_site.id for no key update of s;
  select q.* into v_row from public.offline_conversion_queue q where q.id = (p_args ->> 'id')::uuid and q.site_id = p_site.id for update;
  if v_row.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  v_version := private.require_move('conversion', v_row.status, v_to);
  if v_to = 'QUEUED' and v_row.kind <> 'RETRACT' and exists (select from public.sales s where s.id = v_row.sale_id and s.status = 'CANCELED') then
    perform private.fail(409, 'SALE_CANCELLED');
  end if;
  -- A retraction of a sale that lives, and an adjustment that a later one replaced, would undo what Google was told since.
  -- Nor is anything sent of a sale whose visitor withdrew consent.
  -- Nor is an adjustment that Google takes no more, nor a conversion that another row brought there.
  if v_to = 'QUEUED' and (v_row.provider_error_code in ('SUPERSEDED', 'NO_CONSENT', 'NEVER_ARRIVED')
      or (v_row.kind <> 'CONVERSION' and v_row.click_expires_at <= v_now)
      or exists (select from public.sales s
        where s.id = v_row.sale_id and not private.may_tell(s, v_row.kind))
      or (v_row.status = 'FAILED' and v_row.kind = 'CONVERSION'
        and exists (select from private.delivered_sales d
          where d.sale_id = v_row.sale_id and d.provider_key = v_row.provider_key))
      or (v_row.kind = 'RETRACT' and exists (select from public.sales s where s.id = v_row.sale_id and s.status <> 'CANCELED'))) then
    perform private.fail(409, 'ILLEGAL_MOVE', jsonb_build_object('from', v_row.status, 'to', v_to, 'contract_version', v_version, 'allowed', '[]'::jsonb));
  end if;
  if v_to = 'FAILED' and v_row.kind = 'RETRACT' and private.is_followed(v_row.sale_id) then
    perform private.fail(409, 'ILLEGAL_MOVE', jsonb_build_object('from', v_row.status, 'to', v_to, 'contract_version', v_version, 'allowed', '[]'::jsonb));
  end if;
  -- Nor a person's work: nobody knows whether it is done at Google already. OCI Control asks first.
  if v_to = 'QUEUED' and private.waits_for_person(v_row, p_site.oci_sync_method) then
    perform private.fail(409, 'ILLEGAL_MOVE', jsonb_build_object('from', v_row.status, 'to', v_to,
      'contract_version', v_version, 'allowed', '["FAILED"]'::jsonb));
  end if;
  if v_to = 'QUEUED' and v_row.status = 'FAILED' and exists (select from public.offline_conversion_queue o
      where o.sale_id = v_row.sale_id and o.provider_key = v_row.provider_key and o.kind = v_row.kind and o.status in ('QUEUED', 'RETRY', 'PROCESSING')) then
    perform private.fail(409, 'ALREADY_QUEUED');
  end if;
  perform private.act(p_actor, case when v_to = 'FAILED' then 'MARK_FAILED' when v_row.status in ('FAILED', 'RETRY') then 'RETRY_SELECTED' else 'RESET_TO_QUEUED' end);
  update public.offline_conversion_queue q
    set status = v_to, claimed_at = null, claim_token = null, next_retry_at = null, updated_at = v_now,
        attempt_base = case v_to when 'QUEUED' then q.attempt_count else q.attempt_base end,
        may_have_arrived = q.may_have_arrived or q.status = 'PROCESSING',
        provider_error_code = case when v_to = 'FAILED' then 'MANUAL_FAIL' else q.provider_error_code end,
        provider_error_category = case v_to when 'FAILED' then 'PERMANENT' else q.provider_error_category end,
        last_error = case v_to when 'FAILED' then left(coalesce(p_args ->> 'reason', 'MANUALLY_MARKED_FAILED'), 1024) else q.last_error end
    where q.id = v_row.id;
  if v_row.status = 'PROCESSING' then
    perform private.follow_ledger(v_row.sale_id);   -- it may have arrived, and the sale have come to nothing meanwhile
  end if;
  v_proof_id := private.prove(p_site.id, p_actor, jsonb_build_object('contract', 'conversion', 'contractVersion', v_version, 'entityId', v_row.id,
    'from', v_row.status, 'to', v_to, 'note', p_args ->> 'reason', 'requestHash', p_args ->> 'requestHash',
    'facts', jsonb_build_object('saleId', v_row.sale_id, 'attemptCount', v_row.attempt_count)));
  return jsonb_build_object('ok', true, 'from', v_row.status, 'to', v_to, 'contract_version', v_version, 'proof_id', v_proof_id);
end
$$;
