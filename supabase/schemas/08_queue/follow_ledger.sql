-- needed_kind: what must be sent so that Google has what the ledger says of a sale; null when it
-- has that already.
--   Takes    p_standing: what Google has of the sale; null when it has nothing. p_again as below.
create function private.needed_kind(
  p_sale public.sales, p_standing private.standing_dispatches, p_again text
) returns text
language plpgsql stable security definer set search_path = ''
as $$
declare
  -- One that may have arrived is sent again with its order id, if it still can be: automatically if
  -- nobody answered, otherwise when a person asks for it.
  v_is_again boolean := p_standing.verdict is not distinct from 'UNKNOWN'
    and (p_standing.kind = p_again or exists (select from public.offline_conversion_queue q
      where q.sale_id = p_sale.id and q.kind = p_standing.kind
        and q.state = any (private.waiting_states()) and q.created_at >= p_standing.dispatched_at));
  v_is_resendable boolean := p_standing.id is null
    or (coalesce(p_sale.gclid, p_sale.wbraid, p_sale.gbraid) is not null
      and p_standing.verdict is not distinct from 'UNKNOWN'
      and (p_standing.verdict_reason is not distinct from 'NEVER_ANSWERED'
        or v_is_again and p_standing.kind = 'CONVERSION'));
begin
  return case
    when v_is_resendable and p_sale.status = 'CONFIRMED' then 'CONVERSION'
    when p_standing.id is null or p_standing.kind = 'RETRACT' then null
    when p_sale.status = 'CANCELED' then 'RETRACT'
    when p_standing.value_cents <> p_sale.amount_cents or not p_standing.is_certain
      or v_is_again and p_standing.kind = 'RESTATE'
      -- One that was handed out since and never completed may have arrived.
      or exists (select from public.offline_conversion_queue q
        where q.sale_id = p_sale.id and q.kind = 'RESTATE' and q.state <> 'COMPLETED'
          and q.created_at >= p_standing.dispatched_at
          and (q.handed_value_cents <> p_sale.amount_cents or q.handed_values_differ))
      then 'RESTATE' end;
end
$$;

-- follow_ledger: bring the queue in line with what a sale is worth now and what Google has of it.
-- Called, with the sale's row locked, after every change of the ledger, every success and every
-- rejection, so that what Google has plus what is queued always equals the ledger. Data Manager
-- takes a while: what it accepted first can overwrite what the Ads API was sent since. After a
-- switch between them, a value that may have gone both ways is corrected a day later.
--   Takes    p_again: a kind that is queued although Google rejected this value of it or gave no
--            verdict; and p_not_before, how long that waits.
create function private.follow_ledger(
  p_sale_id uuid, p_again text default null, p_not_before timestamptz default null
) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sale public.sales;
  v_standing private.standing_dispatches;
  v_newest public.revenue_snapshots := private.newest_snapshot(p_sale_id);
  v_needed text;
begin
  select s.* into v_sale from public.sales s where s.id = p_sale_id;
  -- An in-flight row returned after consent was withdrawn.
  if v_sale.delivery_block is not null then
    perform private.close_waiting(p_sale_id, '{CONVERSION,RESTATE,RETRACT}', v_sale.delivery_block,
      'The visitor withdrew consent before Google was told.');
    perform private.forget_identifiers(array[p_sale_id]);
    if not private.assume_arrival(p_sale_id) then
      return;
    end if;
    -- As with a late success: changes of the sale must be sent to Google.
    update public.sales s set delivery_block = null, updated_at = v_now
      where s.id = p_sale_id returning s.* into v_sale;
  end if;
  -- Rows are for Google Ads.
  select d.* into v_standing from private.standing_dispatches d
    where d.sale_id = p_sale_id and d.provider_key = 'google_ads';
  if v_standing.id is null and v_sale.status = 'CANCELED' and private.assume_arrival(p_sale_id) then
    select d.* into v_standing from private.standing_dispatches d
      where d.sale_id = p_sale_id and d.provider_key = 'google_ads';
  end if;
  v_needed := private.needed_kind(v_sale, v_standing, p_again);

  if v_needed is distinct from 'CONVERSION' then
    perform private.close_waiting(p_sale_id, '{CONVERSION}',
      case when v_sale.status = 'CANCELED' then 'SALE_CANCELLED'
        when v_standing.verdict_reason = 'NEVER_ANSWERED' then 'NO_CONSENT' else 'SUPERSEDED' end,
      'The sale changed before Google was told.');
  end if;
  perform private.close_waiting(
    p_sale_id, array_remove('{RESTATE,RETRACT}', v_needed), 'SUPERSEDED',
    case when v_standing.id is null
      then 'Google rejected the conversion: there is nothing to adjust.'
      else 'A later change of the sale made this one needless.' end);
  if v_needed is null then
    return;
  end if;
  if v_needed <> 'CONVERSION' and v_sale.occurred_at <= v_now - private.adjustments_end() then
    perform private.close_waiting(p_sale_id, array[v_needed], 'ADJUSTMENT_EXPIRED',
      private.adjustment_expired_message());
    return;
  end if;
  update public.offline_conversion_queue q
    set snapshot_id = v_newest.id, value_cents = v_newest.amount_cents, updated_at = v_now
    where q.sale_id = p_sale_id and q.kind = v_needed
      and q.state = any (private.waiting_states()) and q.claim_token is null
      and q.snapshot_id <> v_newest.id;
  if v_needed = 'CONVERSION' then
    -- The row of a sale that was cancelled and sealed again is queued again: the same conversion
    -- with the same order id.
    update public.offline_conversion_queue q
      set state = 'QUEUED', status = 'QUEUED', snapshot_id = v_newest.id,
          value_cents = v_newest.amount_cents, next_retry_at = null, attempt_base = q.attempt_count,
          provider_error_code = null, provider_error_category = null, last_error = null,
          updated_at = v_now,
          not_before = greatest(q.not_before, v_now + (
            select make_interval(mins => s.send_delay_minutes)
            from public.sites s where s.id = q.site_id))
      where q.id = (select x.id from public.offline_conversion_queue x
        where x.sale_id = p_sale_id and x.kind = 'CONVERSION' and x.state = 'FAILED'
          and x.provider_error_code = 'SALE_CANCELLED'
        order by x.created_at desc, x.id desc limit 1);
  end if;
  if v_needed = p_again
     -- Google rejected it temporarily while the sale was cancelled; the sale came back.
     or (v_needed = 'CONVERSION' and exists (select from public.provider_dispatches d
           where d.sale_id = p_sale_id and d.kind = 'CONVERSION' and d.verdict = 'REJECTED'
           having count(*) < 5 and (array_agg(d.is_retryable
             order by d.dispatched_at desc, d.id desc))[1])
         and not exists (select from public.offline_conversion_queue q
           where q.sale_id = p_sale_id and q.kind = 'CONVERSION' and q.state <> 'COMPLETED'))
     or not exists (select from public.offline_conversion_queue q
       where q.sale_id = p_sale_id and q.kind = v_needed
         and (q.state = any (private.waiting_states()) or v_needed = 'CONVERSION'
           -- An operator retries one that failed with this value: retried automatically, it
           -- would fail for ever.
           or (q.state = 'FAILED' and q.snapshot_id = v_newest.id
             and q.provider_error_code <> 'SUPERSEDED')
           -- So is one that Google rejected.
           or (q.snapshot_id = v_newest.id and exists (
             select from public.provider_dispatches d where d.sale_id = p_sale_id
               and d.queue_id = q.id and d.verdict = 'REJECTED')))) then
    perform private.enqueue(v_sale, v_needed,
      case when v_needed = 'CONVERSION' then null
        when exists (select from public.provider_dispatches d
          where d.sale_id = p_sale_id and d.kind = 'CONVERSION' and d.click_kind = 'wbraid'
            and d.verdict is distinct from 'REJECTED') then 'WBRAID_ONLY'
        when private.is_elsewhere(v_sale.site_id, v_standing.conversion_action)
          then 'OTHER_ACCOUNT' end,
      greatest(case when v_needed = p_again then p_not_before end,
        case when v_needed = 'RESTATE' then (
          select v_now + interval '1 day' from public.offline_conversion_queue q
          where q.id = v_standing.queue_id and q.handed_vias_differ
            and q.handed_values_differ) end));
  end if;
end
$$;

-- assume_arrival: a conversion will not be sent again, but one of its hand-outs got no answer, so
-- Google may have it, even if it rejected another hand-out. Writes a dispatch with the verdict
-- UNKNOWN, so that it can be adjusted and taken back. Leaves rows in flight: their answer is still
-- to come. Called with the sale locked.
--   Returns  whether one was written.
create function private.assume_arrival(p_sale_id uuid) returns boolean
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  with assumed as (
    update public.offline_conversion_queue q set may_have_arrived = false, updated_at = v_now
      where q.sale_id = p_sale_id and q.kind = 'CONVERSION' and q.may_have_arrived
        and (q.status in ('QUEUED', 'RETRY', 'FAILED') or q.status = 'COMPLETED'
          and not exists (select from public.provider_dispatches d where d.sale_id = p_sale_id
            and d.queue_id = q.id and d.verdict is distinct from 'REJECTED'))
      returning q.*)
  insert into private.assumed_dispatches (site_id, queue_id, sale_id, snapshot_id, kind,
      provider_key, transport, order_id, conversion_name, conversion_action, conversion_time,
      value_cents, currency, identifiers_hash, click_kind, is_certain, dispatched_at, verdict,
      verdict_reason, verdict_at)
    select a.site_id, a.id, a.sale_id, a.handed_snapshot_id, a.kind, a.provider_key,
      coalesce(a.handed_via, 'script'), a.order_id, a.conversion_name, a.conversion_action,
      a.conversion_time, a.handed_value_cents, a.currency, a.identifiers_hash, a.click_kind,
      not exists (select from assumed o where o.handed_values_differ
        or o.handed_value_cents <> a.handed_value_cents),
      v_now, 'UNKNOWN', 'NEVER_ANSWERED', v_now
    from assumed a where a.handed_snapshot_id is not null
    order by a.created_at desc, a.id desc limit 1;   -- one: they have one order id and action
  return found;
end
$$;
