-- Sealing: an operator says that a lead was real and what it was worth. Call, sale, ledger, queue and proof change together or not at all.
-- Locks are taken in one order everywhere: call, visit, sale, queue rows.

-- last_change: who made a call what it is, for somebody whose screen is older than that.
create function private.last_change(p_call public.calls) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_strip_nulls(jsonb_build_object('status', p_call.status, 'version', p_call.version, 'changedAt', p_call.status_at,
    'changedBy', (select private.display_name(u) from public.transition_proofs p join auth.users u on u.id = p.actor_id
                  where p.id = p_call.last_proof_id and p.actor_kind = 'user'),
    'amountCents', s.amount_cents, 'currency', s.currency))
  from (select 1) one left join public.sales s on s.call_id = p_call.id and s.status = 'CONFIRMED'
$$;

-- delivery_block_of: why Google can not be told of a lead, or null.
create function private.delivery_block_of(p_call public.calls) returns text
language sql stable set search_path = ''
as $$
  select case
    when not p_call.marketing_consent or private.refused_marketing(p_call.site_id, p_call.visitor_id) then 'NO_CONSENT'
    when coalesce(p_call.gclid, p_call.wbraid, p_call.gbraid) is null then 'NO_CLICK_ID'
    when p_call.clicked_at < private.current_moment() - interval '90 days' then 'CLICK_EXPIRED' end
$$;

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

-- hold_retractions: no worker takes a retraction of these sales from here on, and what one has taken can be seen: a claim holds no sale, so
-- without this a sale could come back while its retraction is on its way. The sales first, as everywhere.
create function private.hold_retractions(p_sale_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  perform from public.sales s where s.id = any (p_sale_ids) order by s.id for update;
  perform from public.offline_conversion_queue q where q.sale_id = any (p_sale_ids) and q.kind = 'RETRACT' order by q.id for update;
end
$$;

-- retract_after_all: p_sale follows another sale of its call that Google may still have. The other
-- one's retraction, given up before, is tried again: else both would count. A sale from elsewhere
-- without a call of its own follows the one that its customer's call had.
create function private.retract_after_all(p_sale public.sales, p_actor private.actor) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  perform private.act(p_actor, 'SEAL');
  update public.offline_conversion_queue q
    set status = 'QUEUED', next_retry_at = null, attempt_base = q.attempt_count, provider_error_code = null, provider_error_category = null,
        last_error = null, updated_at = v_now
    from public.sales s
    where s.call_id in (p_sale.call_id, p_sale.sibling_call_id) and s.status = 'CANCELED'
      and s.delivery_block is null and s.occurred_at > v_now - private.adjustments_end()
      and q.sale_id = s.id and q.kind = 'RETRACT' and q.status = 'FAILED'
      and q.provider_error_code not in ('SUPERSEDED', 'NEVER_ARRIVED')
      and not exists (select from public.offline_conversion_queue o where o.sale_id = s.id and o.kind = 'RETRACT' and (o.status <> 'FAILED' or o.created_at > q.created_at));
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

-- end_sale: a sealed sale is worth nothing any more; what Google was told is taken back.
create function private.end_sale(p_sale_id uuid, p_actor private.actor) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
begin
  select s.* into v_sale from public.sales s where s.id = p_sale_id for update;
  if v_sale.status = 'DRAFT' then
    update public.sales s set status = 'CANCELED', drafted_cents = s.amount_cents, amount_cents = 0, version = s.version + 1, updated_at = private.current_moment()
      where s.id = p_sale_id returning * into v_sale;
    return v_sale;   -- a draft has no ledger
  end if;
  v_sale := private.write_snapshot(p_sale_id, 'CANCEL', 0, v_sale.value_source, p_actor);
  perform private.act(p_actor, 'CANCEL');
  perform private.follow_ledger(p_sale_id);
  return v_sale;
end
$$;

-- silence_signals: stages that turned out to be nothing (CALL_IS_JUNK) or were taken back (STAGE_UNDONE) are not told to Google; or are again.
create function private.silence_signals(p_call_id uuid, p_silent boolean, p_reason text, p_type text default null) returns void
language sql security definer set search_path = ''
as $$
  update public.marketing_signals g
    set dispatch_status = case when p_silent then 'FAILED' else 'PENDING' end, last_error = case when p_silent then p_reason end,
        provider_error_code = null, provider_error_category = null,
        next_retry_at = null, updated_at = private.current_moment()
    where g.call_id = p_call_id and g.signal_type = coalesce(p_type, g.signal_type)
      and case when p_silent   -- with what a new connection would bring back
        then g.dispatch_status = 'PENDING' or (g.dispatch_status = 'FAILED' and g.provider_error_category = 'AUTH')
        else g.dispatch_status = 'FAILED' and g.last_error = p_reason end
$$;

-- follow_stages: bring the signals of a call in line with a move of it.
create function private.follow_stages(p_call public.calls, p_to text, p_is_undo boolean) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_entered text := case p_to when 'qualified' then 'SEAL_PENDING' when 'meeting' then 'MEETING_BOOKED' end;
  v_left text := case p_call.status when 'qualified' then 'SEAL_PENDING' when 'meeting' then 'MEETING_BOOKED' end;
begin
  if p_to in ('junk', 'cancelled') then
    perform private.silence_signals(p_call.id, true, 'CALL_IS_JUNK');
  elsif p_call.status in ('junk', 'cancelled') then
    perform private.silence_signals(p_call.id, false, 'CALL_IS_JUNK');
  end if;
  if p_is_undo and v_left is not null then
    perform private.silence_signals(p_call.id, true, 'STAGE_UNDONE', v_left);
  elsif v_entered is not null and not p_is_undo then
    perform private.silence_signals(p_call.id, false, 'STAGE_UNDONE', v_entered);
    perform private.emit_signal(p_call.id, v_entered, private.current_moment());
  end if;
end
$$;
