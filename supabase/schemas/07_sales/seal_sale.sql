-- Sealing: an operator says that a lead was real and what it was worth. Call, sale, ledger, queue
-- and proof change together or not at all. Locks are taken in one order everywhere: call, visit,
-- sale, queue rows.

-- refuse_sealed_visit: 409 with the sale that is there already.
create function private.refuse_sealed_visit(p_sale public.sales) returns void
language sql set search_path = ''
as $$
  select private.fail(409, 'VISIT_ALREADY_SEALED', jsonb_build_object(
    'callId', p_sale.call_id,
    'saleId', p_sale.id,
    'amountCents', p_sale.amount_cents,
    'currency', p_sale.currency))
$$;

-- lock_visit: decisions about one visit are made one after the other. Everybody takes it after the
-- call and before any sale.
create function private.lock_visit(p_session_id uuid) returns void
language sql set search_path = ''
as $$
  select pg_catalog.pg_advisory_xact_lock(hashtextextended('visit/' || p_session_id, 0))
  where p_session_id is not null
$$;

-- take_sale: the named sale of a site, locked.
--   Takes    p_args {id, expectedVersion?}
--   Refuses  404 for a sale of another site, 409 STALE_VERSION with what it is now.
create function private.take_sale(p_site public.sites, p_args jsonb) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
begin
  select s.* into v_sale from public.sales s
    where s.id = (p_args ->> 'id')::uuid and s.site_id = p_site.id for update;
  if v_sale.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if v_sale.version <> coalesce((p_args ->> 'expectedVersion')::int, v_sale.version) then
    perform private.fail(409, 'STALE_VERSION', jsonb_build_object(
      'status', v_sale.status,
      'version', v_sale.version,
      'amountCents', v_sale.amount_cents,
      'currency', v_sale.currency));
  end if;
  return v_sale;
end
$$;

-- refuse_second_sale: one visit is one sale, unless the operator says that it is another. Two
-- operators who seal two calls of one visit are decided one after the other. The lock is not the
-- session's row: the worker holds that row while it waits for a call.
create function private.refuse_second_sale(p_call public.calls, p_is_undo boolean) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_sibling public.sales;
begin
  perform private.lock_visit(p_call.session_id);
  select s.* into v_sibling
    from public.calls c join public.sales s on s.call_id = c.id and s.status = 'CONFIRMED'
    where c.session_id = p_call.session_id and c.id <> p_call.id
      -- An undo restores sales that existed side by side before.
      and (not p_is_undo or c.status_at > p_call.status_at)
    limit 1;
  if v_sibling.id is not null then
    perform private.refuse_sealed_visit(v_sibling);
  end if;
end
$$;

-- sale_to_seal: the sale of a call that a seal confirms: a draft, or a cancelled sale that Google
-- cannot have a retraction of. None: the seal makes a new one.
--   Takes    p_args {saleId?}: only this one. It is refused while another sale of the call lives.
create function private.sale_to_seal(p_call_id uuid, p_args jsonb) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
  v_other public.sales;
begin
  perform private.hold_retractions(array(
    select s.id from public.sales s where s.call_id = p_call_id and s.status = 'CANCELED'));
  select s.* into v_sale from public.sales s
    where s.call_id = p_call_id
      and s.id = coalesce((p_args ->> 'saleId')::uuid, s.id)
      and (s.status = 'DRAFT'
        or (s.status = 'CANCELED'
          and (p_args ? 'saleId' or private.has_ledger(s.id))
          and not private.may_be_retracted(s.id)))
    order by s.status = 'DRAFT' desc, s.created_at desc limit 1 for update;
  if p_args ? 'saleId' then
    select s.* into v_other from public.sales s
      where s.call_id = p_call_id and s.status <> 'CANCELED' and s.id is distinct from v_sale.id;
    if v_other.id is not null then
      perform private.refuse_sealed_visit(v_other);
    end if;
  end if;
  return v_sale;
end
$$;

-- known_worth: a sale with the amount, currency and source that it has when nobody says an amount:
-- the draft's own, else what it was worth before, else what the site expects of a sale. What it was
-- worth before counts also for a new order, when Google has a retraction of the old one.
create function private.known_worth(p_site public.sites, p_call_id uuid, p_sale public.sales)
returns public.sales
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_last public.revenue_snapshots;
begin
  if p_sale.status = 'DRAFT' then
    return p_sale;
  end if;
  select r.* into v_last
    from public.revenue_snapshots r join public.sales s on s.id = r.sale_id
    where s.call_id = p_call_id and s.id = coalesce(p_sale.id, s.id) and r.amount_cents > 0
    order by s.created_at desc, r.sequence desc limit 1;
  if v_last.id is not null then
    p_sale.amount_cents := v_last.amount_cents;
    p_sale.value_source := v_last.value_source;
    p_sale.currency := v_last.currency;
  elsif p_sale.drafted_cents is not null then
    p_sale.amount_cents := p_sale.drafted_cents;
  else
    p_sale.amount_cents := private.expected_value_cents(p_site, 'sealed');
    p_sale.value_source := 'PREDICTED';
    p_sale.currency := p_site.currency;
  end if;
  return p_sale;
end
$$;

-- seal_sale: the sale behind a call becomes CONFIRMED: the one of sale_to_seal, or a new one.
-- Without an amount it is worth what known_worth says.
--   Takes    p_args {amountCents?, currency?, note?, separateSale?, isUndo?, saleId?}
--   Refuses  a second sale of one visit, unless the operator says that it is one; a currency
--            without an amount in it.
create function private.seal_sale(
  p_site public.sites, p_actor private.actor, p_call public.calls, p_args jsonb
) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sale public.sales;
  v_asked bigint := private.asked_cents(p_args);
  v_worth public.sales;   -- amount_cents, currency and value_source
  v_kind text := 'SEAL';
begin
  if p_call.session_id is not null
      and not coalesce((p_args ->> 'separateSale')::boolean, false) then
    perform private.refuse_second_sale(p_call, coalesce((p_args ->> 'isUndo')::boolean, false));
  end if;
  v_sale := private.sale_to_seal(p_call.id, p_args);
  if v_asked is not null then
    v_worth.amount_cents := v_asked;
    v_worth.value_source := 'OPERATOR';
    v_worth.currency := coalesce(p_args ->> 'currency', v_sale.currency, p_site.currency);
  else
    v_worth := private.known_worth(p_site, p_call.id, v_sale);
    if v_worth.currency <> coalesce(p_args ->> 'currency', v_worth.currency) then
      -- The amount that we know is in another currency.
      perform private.fail(400, 'INVALID_CURRENCY');
    end if;
  end if;
  perform private.check_amount(v_worth.amount_cents, v_worth.currency);
  if v_sale.id is null then
    v_sale.id := private.uuid_v7();
    insert into public.sales
        (id, site_id, call_id, status, version, order_id, amount_cents, currency, value_source,
        occurred_at, gclid, wbraid, gbraid, clicked_at, delivery_block, created_at, updated_at)
      values (v_sale.id, p_site.id, p_call.id, 'CONFIRMED', 0, private.order_id_of(v_sale.id),
        v_worth.amount_cents, v_worth.currency, v_worth.value_source, p_call.called_at,
        p_call.gclid, p_call.wbraid, p_call.gbraid, p_call.clicked_at,
        private.delivery_block_of(p_call), v_now, v_now);
  else
    if private.has_ledger(v_sale.id) then
      v_kind := 'RESTORE';
      if v_sale.currency <> v_worth.currency then
        -- One ledger, one currency: its lines must add up.
        perform private.fail(400, 'INVALID_CURRENCY');
      end if;
    end if;
    update public.sales s set currency = v_worth.currency where s.id = v_sale.id;
  end if;
  v_sale := private.write_snapshot(
    v_sale.id, v_kind, v_worth.amount_cents, v_worth.value_source, p_actor);
  if p_args ? 'note' then
    update public.sales s set note = left(p_args ->> 'note', 500) where s.id = v_sale.id;
  end if;
  -- The sale of an old lead is as old as the lead; its note and clicks are not to outlive it.
  perform private.reopen_retention(p_site.id, 'sales', v_sale.occurred_at);
  perform private.act(p_actor, v_kind);
  perform private.follow_ledger(v_sale.id);
  return v_sale;
end
$$;

-- seal_call: freezes a lead's outcome and queues it for Google.
--   Takes    p_seal {id, amountCents?, currency?, note?, expectedVersion?, separateSale?}. Without
--            an amount: the site's expected value, marked as predicted.
--   Callers  operators.
create function public.seal_call(
  p_public_id text, p_seal jsonb, p_request_hash text, p_key text default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(
    private.require_open_site(p_public_id, 'operator'), 'call.seal', p_key, p_request_hash,
    jsonb_strip_nulls(jsonb_build_object(
      'effect', 'call',
      'to', 'sealed',
      'id', p_seal -> 'id',
      'amountCents', p_seal -> 'amountCents',
      'currency', p_seal -> 'currency',
      'note', p_seal -> 'note',
      'expectedVersion', p_seal -> 'expectedVersion',
      'separateSale', p_seal -> 'separateSale')))
$$;
grant execute on function public.seal_call(text, jsonb, text, text) to authenticated;
