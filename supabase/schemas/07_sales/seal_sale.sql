-- Sealing: an operator says that a lead was real and what it was worth. Call, sale, ledger, queue and proof change together or not at all.
-- Locks are taken in one order everywhere: call, visit, sale, queue rows.

-- refuse_sealed_visit: 409 with the sale that is there already.
create function private.refuse_sealed_visit(p_sale public.sales) returns void
language sql set search_path = ''
as $$
  select private.fail(409, 'VISIT_ALREADY_SEALED', jsonb_build_object('callId', p_sale.call_id, 'saleId', p_sale.id,
    'amountCents', p_sale.amount_cents, 'currency', p_sale.currency))
$$;

-- lock_visit: two who decide about one visit do it one after the other. Taken after the call and before any sale, by everybody.
create function private.lock_visit(p_session_id uuid) returns void
language sql set search_path = ''
as $$ select pg_catalog.pg_advisory_xact_lock(hashtextextended('visit/' || p_session_id, 0)) where p_session_id is not null $$;

-- take_sale: the named sale of a site, locked; 404 for another's, 409 with what it is now when the caller knows an older version.
create function private.take_sale(p_site public.sites, p_args jsonb) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
begin
  select s.* into v_sale from public.sales s where s.id = (p_args ->> 'id')::uuid and s.site_id = p_site.id for update;
  if v_sale.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if v_sale.version <> coalesce((p_args ->> 'expectedVersion')::int, v_sale.version) then
    perform private.fail(409, 'STALE_VERSION', jsonb_build_object('status', v_sale.status, 'version', v_sale.version,
      'amountCents', v_sale.amount_cents, 'currency', v_sale.currency));
  end if;
  return v_sale;
end
$$;

-- refuse_second_sale: one visit is one sale, unless the operator says that it is another. Two operators who seal two calls of one
-- visit are decided one after the other. The lock is not the session's row: the worker holds that one while it waits for a call.
create function private.refuse_second_sale(p_call public.calls, p_is_undo boolean) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_sibling public.sales;
begin
  perform private.lock_visit(p_call.session_id);
  select s.* into v_sibling from public.calls c join public.sales s on s.call_id = c.id and s.status = 'CONFIRMED'
    where c.session_id = p_call.session_id and c.id <> p_call.id
      and (not p_is_undo or c.status_at > p_call.status_at)   -- what stood beside it before comes back beside it
    limit 1;
  if v_sibling.id is not null then
    perform private.refuse_sealed_visit(v_sibling);
  end if;
end
$$;

-- seal_sale: the sale behind a call becomes CONFIRMED: a draft that waited for it, a cancelled one that nobody may have told Google to forget,
-- or a new one. Without an amount it is worth what it was worth before, else what the site expects of a sale.
--   Takes    p_args {amountCents?, currency?, note?, separateSale?, isUndo?, saleId?}
--   Refuses  a second sale of one visit, unless the operator says that it is one; a currency without an amount in it.
create function private.seal_sale(p_site public.sites, p_actor private.actor, p_call public.calls, p_args jsonb) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sale public.sales;
  v_other public.sales;
  v_amount bigint := private.asked_cents(p_args);
  v_currency text;
  v_source text := 'OPERATOR';
  v_kind text := 'SEAL';
begin
  if p_call.session_id is not null and not coalesce((p_args ->> 'separateSale')::boolean, false) then
    perform private.refuse_second_sale(p_call, coalesce((p_args ->> 'isUndo')::boolean, false));
  end if;
  perform private.hold_retractions(array(select s.id from public.sales s where s.call_id = p_call.id and s.status = 'CANCELED'));
  select s.* into v_sale from public.sales s
    where s.call_id = p_call.id and s.id = coalesce((p_args ->> 'saleId')::uuid, s.id)
      and (s.status = 'DRAFT' or (s.status = 'CANCELED' and (p_args ? 'saleId' or exists (select from public.revenue_snapshots r where r.sale_id = s.id)) and not exists (
        select from public.offline_conversion_queue q where q.sale_id = s.id and q.kind = 'RETRACT' and (q.attempt_count > 0 or q.status = 'COMPLETED'))))
    order by s.status = 'DRAFT' desc, s.created_at desc limit 1 for update;
  if p_args ? 'saleId' then   -- the one that is named comes back only while no other lives
    select s.* into v_other from public.sales s where s.call_id = p_call.id and s.status <> 'CANCELED' and s.id is distinct from v_sale.id;
    if v_other.id is not null then
      perform private.refuse_sealed_visit(v_other);
    end if;
  end if;
  if v_amount is not null then
    v_currency := coalesce(p_args ->> 'currency', v_sale.currency, p_site.currency);
  else
    if v_sale.status = 'DRAFT' then
      v_amount := v_sale.amount_cents;
      v_source := v_sale.value_source;
      v_currency := v_sale.currency;
    else   -- what comes back is worth what it was worth before, also when Google was told to forget it and it needs another order
      select r.amount_cents, r.value_source, r.currency into v_amount, v_source, v_currency
        from public.revenue_snapshots r join public.sales s on s.id = r.sale_id
        where s.call_id = p_call.id and s.id = coalesce(v_sale.id, s.id) and r.amount_cents > 0
        order by s.created_at desc, r.sequence desc limit 1;
    end if;
    if v_amount is null and v_sale.drafted_cents is not null then
      v_amount := v_sale.drafted_cents;
      v_source := v_sale.value_source;
      v_currency := v_sale.currency;
    end if;
    if v_amount is null then
      v_amount := private.expected_value_cents(p_site, 'sealed');
      v_source := 'PREDICTED';
      v_currency := p_site.currency;
    end if;
    if v_currency <> coalesce(p_args ->> 'currency', v_currency) then
      perform private.fail(400, 'INVALID_CURRENCY');   -- the amount that we know is in another currency
    end if;
  end if;
  perform private.check_amount(v_amount, v_currency);
  if v_sale.id is null then
    v_sale.id := private.uuid_v7();
    insert into public.sales (id, site_id, call_id, status, version, order_id, amount_cents, currency, value_source, occurred_at, gclid, wbraid, gbraid,
        clicked_at, delivery_block, created_at, updated_at)
      values (v_sale.id, p_site.id, p_call.id, 'CONFIRMED', 0, 'om_' || replace(v_sale.id::text, '-', ''), v_amount, v_currency, v_source,
        p_call.called_at, p_call.gclid, p_call.wbraid, p_call.gbraid, p_call.clicked_at, private.delivery_block_of(p_call), v_now, v_now);
  else
    v_kind := case when exists (select from public.revenue_snapshots r where r.sale_id = v_sale.id) then 'RESTORE' else 'SEAL' end;
    if v_sale.currency <> v_currency and exists (select from public.revenue_snapshots r where r.sale_id = v_sale.id) then
      perform private.fail(400, 'INVALID_CURRENCY');   -- one ledger, one currency: its lines must add up
    end if;
    update public.sales s set currency = v_currency where s.id = v_sale.id;
  end if;
  v_sale := private.write_snapshot(v_sale.id, v_kind, v_amount, v_source, p_actor);
  if p_args ? 'note' then
    update public.sales s set note = left(p_args ->> 'note', 500) where s.id = v_sale.id;
  end if;
  perform private.act(p_actor, v_kind);
  perform private.follow_ledger(v_sale.id);
  return v_sale;
end
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
grant execute on function public.seal_call(text, jsonb, text, text) to authenticated;
