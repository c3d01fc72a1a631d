-- Transitions: how people and machines ask for a move. Each takes the caller's key and the hash of the request, and answers
-- {status, replayed, body} with the body as the bytes to serve.

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

-- effect: the one that answer_once runs for a named change. p_args {effect, site, actorKind, actorId, …}
create function private.effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites;
  v_actor private.actor := (p_args ->> 'actorKind', (p_args ->> 'actorId')::uuid)::private.actor;
begin
  select s.* into v_site from public.sites s where s.id = (p_args ->> 'site')::uuid;
  return case p_args ->> 'effect'
    when 'call' then private.move_call(v_site, v_actor, p_args)
    when 'sale' then private.move_sale(v_site, v_actor, p_args)
    when 'conversion' then private.move_conversion(v_site, v_actor, p_args)
    when 'correct' then private.correct_amount(v_site, v_actor, p_args)
    when 'undo' then private.undo_move(v_site, v_actor, p_args) end;
end
$$;

-- transition_args: what a caller of the contract endpoint may say, and nothing that only the desk or an undo may.
create function private.transition_args(p_move jsonb, p_site_id uuid, p_actor private.actor, p_request_hash text) returns jsonb
language sql immutable set search_path = ''
as $$
  select jsonb_build_object('effect', p_move -> 'contract', 'id', p_move -> 'id', 'to', p_move -> 'to', 'reason', p_move -> 'reason',
    'expectedVersion', p_move -> 'expectedVersion', 'site', p_site_id, 'actorKind', p_actor.kind, 'actorId', p_actor.id, 'requestHash', p_request_hash)
$$;

create function private.require_key(p_key text) returns text
language plpgsql immutable set search_path = ''
as $$
begin
  if p_key is null then
    perform private.fail(400, 'INVALID_IDEMPOTENCY_KEY');
  end if;
  return p_key;
end
$$;

-- transition_effect: a move as the contract endpoint answers it: these five fields and no other.
create function private.transition_effect(p_args jsonb) returns jsonb
language sql security definer set search_path = ''
as $$
  select jsonb_build_object('ok', true, 'from', e -> 'from', 'to', e -> 'to', 'contract_version', e -> 'contract_version', 'proof_id', e -> 'proof_id')
  from private.effect(p_args) e
$$;

create function private.site_of_entity(p_contract text, p_id uuid) returns uuid
language plpgsql stable security definer set search_path = ''
as $$
begin
  return case p_contract
    when 'call' then (select c.site_id from public.calls c where c.id = p_id)
    when 'sale' then (select s.site_id from public.sales s where s.id = p_id)
    when 'conversion' then (select q.site_id from public.offline_conversion_queue q where q.id = p_id) end;
end
$$;

-- change_once: an operator's change of one site, answered once per key.
create function private.change_once(p_site public.sites, p_scope text, p_key text, p_request_hash text, p_args jsonb) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.answer_once(p_site.id, p_scope, p_key, p_request_hash, 'private.effect'::regproc, p_args || jsonb_build_object(
    'site', p_site.id, 'actorKind', 'user', 'actorId', auth.uid(), 'requestHash', p_request_hash))
$$;

-- transition_contract: one legal move, asked for by a person.
--   Takes    p_move {contract, id, to, reason?, expectedVersion?}. The site is the entity's; unknown and not-yours are the same 404.
--   Refuses  400 without a key, 409 ILLEGAL_MOVE with what is allowed.
--   Callers  operators.
create function public.transition_contract(p_move jsonb, p_key text, p_request_hash text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites;
begin
  select s.* into v_site from public.sites s where s.id = private.site_of_entity(p_move ->> 'contract', (p_move ->> 'id')::uuid);
  if v_site.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  v_site := private.require_open_site(v_site.public_id, 'operator');
  return private.answer_once(v_site.id, 'contract.transition', private.require_key(p_key), p_request_hash, 'private.transition_effect'::regproc,
    private.transition_args(p_move, v_site.id, private.user_actor(), p_request_hash));
end
$$;

-- transition_contract_for_key: the same, asked for by a machine with a key of the site.
--   Refuses  403 INSUFFICIENT_SCOPE unless the key has the scope of what it moves, or `contracts`.
--   Callers  service role only.
create function public.transition_contract_for_key(p_key_id uuid, p_move jsonb, p_key text, p_request_hash text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site_id uuid := private.key_site_id(p_key_id, private.contract_scopes(p_move ->> 'contract'));
begin
  if v_site_id is distinct from private.site_of_entity(p_move ->> 'contract', (p_move ->> 'id')::uuid) then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return private.answer_once(v_site_id, 'contract.transition', private.require_key(p_key), p_request_hash, 'private.transition_effect'::regproc,
    private.transition_args(p_move, v_site_id, ('api_key', p_key_id)::private.actor, p_request_hash));
end
$$;

-- change_call: what an operator does with a lead on the desk: another stage, junk, or a cancelled sale.
--   Takes    p_change {id, to, expectedVersion, reason?}
--   Callers  operators.
create function public.change_call(p_public_id text, p_change jsonb, p_request_hash text, p_key text default null) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(private.require_open_site(p_public_id, 'operator'), 'call.change', p_key, p_request_hash,
    jsonb_build_object('effect', 'call', 'id', p_change -> 'id', 'to', p_change -> 'to', 'expectedVersion', p_change -> 'expectedVersion', 'reason', p_change -> 'reason'))
$$;

-- seal_call: freeze a lead's outcome and queue it for Google.
--   Takes    p_seal {id, amountCents?, currency?, note?, expectedVersion?, separateSale?}. No amount: the site's expected value, marked as predicted.
--   Callers  operators.
create function public.seal_call(p_public_id text, p_seal jsonb, p_request_hash text, p_key text default null) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(private.require_open_site(p_public_id, 'operator'), 'call.seal', p_key, p_request_hash,
    jsonb_strip_nulls(jsonb_build_object('effect', 'call', 'to', 'sealed', 'id', p_seal -> 'id', 'amountCents', p_seal -> 'amountCents',
      'currency', p_seal -> 'currency', 'note', p_seal -> 'note', 'expectedVersion', p_seal -> 'expectedVersion', 'separateSale', p_seal -> 'separateSale')))
$$;

-- undo_call: take back the last move of a lead, within ten minutes.
--   Callers  operators.
create function public.undo_call(p_public_id text, p_undo jsonb, p_request_hash text, p_key text default null) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(private.require_open_site(p_public_id, 'operator'), 'call.undo', p_key, p_request_hash,
    jsonb_build_object('effect', 'undo', 'id', p_undo -> 'id', 'expectedVersion', p_undo -> 'expectedVersion'))
$$;

-- correct_sale: a sealed sale was worth something else.
--   Takes    p_correction {id, amountCents, expectedVersion?, reason?}
--   Callers  operators.
create function public.correct_sale(p_public_id text, p_correction jsonb, p_request_hash text, p_key text default null) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(private.require_open_site(p_public_id, 'operator'), 'sale.correct', p_key, p_request_hash,
    jsonb_build_object('effect', 'correct', 'id', p_correction -> 'id', 'amountCents', p_correction -> 'amountCents',
      'expectedVersion', p_correction -> 'expectedVersion', 'reason', p_correction -> 'reason'))
$$;

-- cancel_sale: a sealed sale did not happen. Its call is cancelled with it.
--   Takes    p_cancel {id, expectedVersion?, reason?}
--   Callers  operators.
create function public.cancel_sale(p_public_id text, p_cancel jsonb, p_request_hash text, p_key text default null) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(private.require_open_site(p_public_id, 'operator'), 'sale.cancel', p_key, p_request_hash,
    jsonb_build_object('effect', 'sale', 'to', 'CANCELED', 'id', p_cancel -> 'id', 'expectedVersion', p_cancel -> 'expectedVersion', 'reason', p_cancel -> 'reason'))
$$;

grant execute on function
  public.transition_contract(jsonb, text, text),
  public.change_call(text, jsonb, text, text),
  public.seal_call(text, jsonb, text, text),
  public.undo_call(text, jsonb, text, text),
  public.correct_sale(text, jsonb, text, text),
  public.cancel_sale(text, jsonb, text, text)
to authenticated;
grant execute on function public.transition_contract_for_key(uuid, jsonb, text, text) to opsmantik_app, service_role;
