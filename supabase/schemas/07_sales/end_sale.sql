-- The end of a sale, and its retraction.

-- end_sale: sets a sealed sale's worth to 0 and takes back what Google has.
create function private.end_sale(p_sale_id uuid, p_actor private.actor) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
begin
  select s.* into v_sale from public.sales s where s.id = p_sale_id for update;
  if v_sale.status = 'DRAFT' then
    update public.sales s
      set status = 'CANCELED',
          drafted_cents = s.amount_cents,
          amount_cents = 0,
          version = s.version + 1,
          updated_at = private.current_moment()
      where s.id = p_sale_id returning * into v_sale;
    return v_sale;   -- a draft has no ledger
  end if;
  v_sale := private.write_snapshot(p_sale_id, 'CANCEL', 0, v_sale.value_source, p_actor);
  perform private.act(p_actor, 'CANCEL');
  perform private.follow_ledger(p_sale_id);
  return v_sale;
end
$$;

-- hold_retractions: from here on no worker claims a retraction of these sales, and claims made
-- before are visible. A claim locks no sale, so without this a sale could come back while its
-- retraction is in flight. Sales are locked first, as everywhere.
create function private.hold_retractions(p_sale_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  perform from public.sales s where s.id = any (p_sale_ids) order by s.id for update;
  perform from public.offline_conversion_queue q
    where q.sale_id = any (p_sale_ids) and q.kind = 'RETRACT' order by q.id for update;
end
$$;

-- may_be_retracted: whether Google may have a retraction of this sale. Such a sale never comes back
-- under its order id.
create function private.may_be_retracted(p_sale_id uuid) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (
    select from public.offline_conversion_queue q
    where q.sale_id = p_sale_id and q.kind = 'RETRACT'
      and (q.attempt_count > 0 or q.state = 'COMPLETED'))
$$;

-- retract_after_all: p_sale follows another sale of its call that Google may still have. The
-- failed retraction of the other one is tried again, or both would count. A sale
-- from elsewhere without a call of its own follows the sale of its customer's call.
create function private.retract_after_all(p_sale public.sales, p_actor private.actor) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  perform private.act(p_actor, 'SEAL');
  update public.offline_conversion_queue q
    set state = 'QUEUED',
        status = 'QUEUED',
        next_retry_at = null,
        attempt_base = q.attempt_count,
        provider_error_code = null,
        provider_error_category = null,
        last_error = null,
        updated_at = v_now
    from public.sales s
    where s.call_id in (p_sale.call_id, p_sale.sibling_call_id) and s.status = 'CANCELED'
      and s.delivery_block is null and s.occurred_at > v_now - private.adjustments_end()
      and q.sale_id = s.id and q.kind = 'RETRACT' and q.state = 'FAILED'
      and q.provider_error_code not in ('SUPERSEDED', 'NEVER_ARRIVED')
      and not exists (
        select from public.offline_conversion_queue o
        where o.sale_id = s.id and o.kind = 'RETRACT'
          and (o.state <> 'FAILED' or o.created_at > q.created_at));
end
$$;
