-- Which rows may be sent now.

-- held_sales: sales of a lead whose earlier, cancelled sale still counts at Google. Sent now, both
-- would count. A sale is held from the cancellation until Google has forgotten the earlier one, and
-- while the earlier one's conversion is in flight. Without a retraction on the queue (Google takes
-- none 54 days after the conversion) nothing is held: nobody could release it.
create view private.held_sales as
  select s.id as sale_id, r.provider_key, o.id as by_sale_id, r.id as by_row_id
  from public.sales s
    join public.sales o
      on o.call_id in (s.call_id, s.sibling_call_id) and o.id <> s.id and o.status = 'CANCELED'
    join public.offline_conversion_queue r on r.sale_id = o.id
  where (r.kind = 'CONVERSION' and r.status = 'PROCESSING')
    or (r.kind = 'RETRACT' and 'RETRACT' <> (select d.kind from private.standing_dispatches d
      where d.sale_id = o.id and d.provider_key = r.provider_key));

-- sendable_queue: the one rule that says which rows a worker may be handed now. Listing, claiming
-- and deferring all read this, so whatever is counted can be claimed. How many attempts a row has
-- is the caller's setting; whether anything of the (site, provider) may be sent is
-- open_connections. Only the queue is read by name, so that "for update" locks its rows and nothing
-- else. "Is true" keeps the planner from the index by expiry, which holds every row that waits for
-- later. What a script may have uploaded counts under the action with the row's name: sent to one
-- that Google calls something else, it would count twice. A row that was sent to an action of
-- another account cannot go to this one. A row that has its action needs no line for its name; an
-- adjustment of what only a script sent takes the seal's where its name has none: over the Ads API,
-- Google refuses what it does not find.
--   adjusts_via  for an adjustment: data_manager (or what the site's transport is) or ads_api.
-- "Offset 0" keeps what is asked of a row's sale a look-up for each row: joined, the planner once
-- scanned every sale for each row that it claimed.
create view private.sendable_queue as
  select x.* from (
    select q.*, coalesce(q.next_retry_at, '-infinity') as eligible_at,
      (select case when q.kind = 'RESTATE' and b.takes_restatements then 'data_manager'
         else 'ads_api' end
       from private.adjustment_bases b
       where q.kind <> 'CONVERSION' and b.sale_id = q.sale_id
         and b.provider_key = q.provider_key and b.waits_for is null) as adjusts_via
    from private.queue_open q) x
  where x.state = any (private.waiting_states()) and x.claim_token is null
    and x.eligible_at <= (select private.current_moment())
    and x.not_before <= (select private.current_moment())
    and (x.click_expires_at > (select private.current_moment())) is true
    and x.by_hand_reason is null
    and (x.kind = 'CONVERSION' or x.adjusts_via is not null)
    and exists (select from public.sales s where s.id = x.sale_id and private.may_send(s, x.kind)
      and (s.status = 'CANCELED') = (x.kind = 'RETRACT') offset 0)
    and (x.kind <> 'CONVERSION'
      -- Few leads have an earlier, cancelled sale; held_sales is asked for those alone.
      or not exists (select from public.sales s join public.sales o
          on o.call_id in (s.call_id, s.sibling_call_id) and o.id <> s.id
            and o.status = 'CANCELED'
        where s.id = x.sale_id offset 0)
      or not exists (select from private.held_sales h
        where h.sale_id = x.sale_id and h.provider_key = x.provider_key offset 0))
    and exists (select from public.provider_conversion_actions a
      where a.site_id = x.site_id and a.provider_key = x.provider_key and case
        when x.conversion_action is not null
          then split_part(x.conversion_action, '/', 2) = split_part(a.action, '/', 2)
            and not exists (select from public.provider_conversion_actions b
              where b.site_id = x.site_id and b.provider_key = x.provider_key
                and b.action = x.conversion_action and b.blocked_at is not null)
        else a.blocked_at is null and a.conversion_name = coalesce(
            case when x.kind = 'CONVERSION' or exists (
                select from public.provider_conversion_actions b where b.site_id = x.site_id
                  and b.provider_key = x.provider_key and b.conversion_name = x.conversion_name)
              then x.conversion_name end,
            (select coalesce(s.conversion_names ->> 'seal', private.default_conversion_name('seal'))
             from public.sites s where s.id = x.site_id))
          and (a.google_name is null or a.google_name = a.conversion_name
            or x.kind <> 'CONVERSION'
            or not (x.may_have_arrived or exists (select from public.provider_dispatches d
              where d.sale_id = x.sale_id and d.verdict is distinct from 'REJECTED')))
        end);
