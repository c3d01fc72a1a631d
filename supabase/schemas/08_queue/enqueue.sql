-- How a sale gets rows on the queue, and how waiting ones are closed.

-- enqueue: queues a row with what is to be sent to Google of a sale. It keeps the name and the
-- action that the sale was sent under before: under another one the order id would be a new
-- conversion. A conversion that is queued once more also remembers that an earlier hand-out of it
-- may have arrived, and with what. The click ids of a conversion are noted as they will be handed
-- out, so that a claim of plain rows writes nothing but the row.
--   Takes    p_not_before: when Google asked to wait longer than the settings say.
create function private.enqueue(
  p_sale public.sales, p_kind text, p_by_hand_reason text default null,
  p_not_before timestamptz default null
) returns void
language sql security definer set search_path = ''
as $$
  with salted as materialized (select gen_random_uuid() as salt),
  queued as (insert into public.offline_conversion_queue (site_id, sale_id, call_id, kind, order_id,
      snapshot_id, value_cents, currency, conversion_time, conversion_name, conversion_action,
      may_have_arrived, handed_value_cents, handed_values_differ, handed_via, handed_vias_differ,
      click_expires_at, not_before, by_hand_reason, created_at, updated_at, identifiers_hash,
      click_kind)
    select p_sale.site_id, p_sale.id, p_sale.call_id, p_kind, p_sale.order_id,
      r.id, r.amount_cents, r.currency, p_sale.occurred_at,
      (select o.conversion_name from public.offline_conversion_queue o
       where o.sale_id = p_sale.id and o.conversion_name is not null
       order by o.created_at, o.id limit 1),
      case when d.id is not null then d.conversion_action else o.conversion_action end,
      o.id is not null, o.handed_value_cents,
      coalesce(o.handed_values_differ, false), o.handed_via, coalesce(o.handed_vias_differ, false),
      case when p_kind = 'CONVERSION'   -- the sale's time if the click was erased
        then coalesce(p_sale.clicked_at, p_sale.occurred_at) + private.click_life()
        else p_sale.occurred_at + private.adjustments_end() end,
      greatest(n.now + make_interval(mins => s.send_delay_minutes), p_sale.occurred_at,
        p_not_before,
        case p_kind when 'CONVERSION'
          then p_sale.clicked_at + make_interval(hours => s.click_min_age_hours) end),
      -- A correction that waited for an answer is not older than what it corrects.
      p_by_hand_reason, greatest(n.now, d.dispatched_at), n.now,
      case p_kind when 'CONVERSION' then private.identifiers_hash(
        t.salt, p_sale.gclid, p_sale.wbraid, p_sale.gbraid, null, null) end,
      case p_kind when 'CONVERSION' then private.click_kind(p_sale) end
    from public.sites s cross join salted t
      cross join private.newest_snapshot(p_sale.id) r
      cross join (select private.current_moment() as now) n
      left join private.standing_dispatches d
        on d.sale_id = p_sale.id and d.provider_key = 'google_ads'
      left join lateral (
        select x.* from public.offline_conversion_queue x
        where p_kind = 'CONVERSION' and x.sale_id = p_sale.id and x.kind = 'CONVERSION'
          and x.may_have_arrived
        order by x.created_at desc, x.id desc limit 1) o on true
    where s.id = p_sale.site_id
    -- A row of this kind went back to waiting at this moment: its claim takes the newest snapshot.
    on conflict do nothing
    returning id, created_at)
  insert into public.dispatch_identifiers (queue_id, site_id, gclid, wbraid, gbraid, salt,
      handed_at)
    select q.id, p_sale.site_id, p_sale.gclid, p_sale.wbraid, p_sale.gbraid, t.salt, q.created_at
    from queued q cross join salted t where p_kind = 'CONVERSION'
$$;

-- click_kind: by which kind of click id Google finds a sale.
create function private.click_kind(p_sale public.sales) returns text
language sql immutable
as $$
  select case when p_sale.gclid is not null then 'gclid'
    when p_sale.gbraid is not null then 'gbraid' when p_sale.wbraid is not null then 'wbraid' end
$$;

-- close_waiting: closes rows of a sale that need not be sent any more, also those that a new
-- connection would requeue. Rows in flight are left: their answer will be compared.
create function private.close_waiting(
  p_sale_id uuid, p_kinds text[], p_code text, p_message text
) returns void
language sql security definer set search_path = ''
as $$
  update public.offline_conversion_queue q
    set state = 'FAILED', status = 'FAILED', next_retry_at = null, last_error = p_message,
        provider_error_code = p_code,
        provider_error_category =
          case p_code when 'ADJUSTMENT_EXPIRED' then 'VALIDATION' else 'DETERMINISTIC_SKIP' end,
        updated_at = private.current_moment()
    where q.sale_id = p_sale_id and q.kind = any (p_kinds)
      and q.claim_token is null
      and (q.state = any (private.waiting_states()) or (q.state = 'FAILED'
        and (q.next_retry_at is not null or q.provider_error_category = 'AUTH')))
$$;

create function private.adjustment_expired_message() returns text
language sql immutable set search_path = ''
as $$
  select 'Google takes no correction 54 days after the sale; it keeps the last value it was sent.'
$$;

-- may_send: whether Google may be sent something of this kind about a sale. A conversion needs the
-- click, which is erased when consent is withdrawn; what Google has can be adjusted without it.
-- No search_path of its own, so that the planner inlines it: queries call it for many rows.
create function private.may_send(p_sale public.sales, p_kind text) returns boolean
language sql immutable
as $$
  select p_sale.delivery_block is null and (p_kind <> 'CONVERSION'
    or coalesce(p_sale.gclid, p_sale.wbraid, p_sale.gbraid) is not null)
$$;

-- get_pending_conversions_for_worker: what waits to be sent for a site. Sealed sales only; reads,
-- changes nothing.
--   Returns  [{id, kind, orderId, valueCents, currency, conversionTime, attemptCount}], in the
--            order in which it would be claimed.
--   Callers  service role only.
create function public.get_pending_conversions_for_worker(p_site_id uuid, p_limit int default 100)
returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'id', t.id,
      'kind', t.kind,
      'orderId', t.order_id,
      'valueCents', t.value_cents,
      'currency', t.currency,
      'conversionTime', t.conversion_time,
      'attemptCount', t.attempt_count)
    order by t.eligible_at, t.created_at, t.id), '[]')
  from (
    select q.*, coalesce(q.next_retry_at, '-infinity') as eligible_at
    from public.offline_conversion_queue q join public.sales s on s.id = q.sale_id
    where q.site_id = p_site_id and q.provider_key = 'google_ads'
      and q.state = any (private.waiting_states()) and q.claim_token is null
      and (s.seal_status = 'sealed' or q.kind = 'RETRACT')
      and q.not_before <= private.current_moment()
      and coalesce(q.next_retry_at, '-infinity') <= private.current_moment()
      and q.click_expires_at > private.current_moment()
    order by coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id
    limit least(greatest(p_limit, 1), 1000)) t
$$;
grant execute on function public.get_pending_conversions_for_worker(uuid, int)
  to opsmantik_app, service_role;
