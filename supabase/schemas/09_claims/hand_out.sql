-- Claims: how a row of the queue is handed to whoever sends it. A claim spends one attempt, takes
-- the newest value of the sale, and gives its caller exactly the rows it claimed. Claims and
-- answers are plpgsql with generic plans throughout: an SQL function is planned again at each
-- call, and planning took longer than changing fifty rows.

-- hand_out: claim rows that the caller has locked.
--   Takes    p_name: what the site calls a sale in Google Ads now. A row that has a name keeps it.
--            p_vias: which API takes each row; null for a script. A script that gets what an API
--            may have delivered uses Google's name of that action, so that it counts once.
--   Moves    QUEUED/RETRY -> PROCESSING.
--   Writes   what is handed out: name, snapshot and value on the row, ids in dispatch_identifiers.
--            Hashes of the phone number and the e-mail address are sent only where the customer
--            agreed explicitly: by the visitor's newest choice, or in a sale from elsewhere.
--   Returns  the rows as they must be sent, in the order given. A row whose sale was cancelled
--            meanwhile is left out.
create function private.hand_out(
  p_ids uuid[], p_sale_ids uuid[], p_vias text[], p_token uuid, p_name text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_rows jsonb;
begin
  with claimed as (
    update public.offline_conversion_queue q
      set status = 'PROCESSING', claimed_at = v_now, claim_token = p_token,
          attempt_count = q.attempt_count + 1,
          snapshot_id = r.id, value_cents = r.amount_cents,
          handed_snapshot_id = r.id, handed_value_cents = r.amount_cents,
          handed_values_differ = q.handed_values_differ
            or coalesce(q.handed_value_cents <> r.amount_cents, false),
          conversion_name = coalesce(q.conversion_name, p_name),
          conversion_action = case
            when i.via is not null then coalesce(q.conversion_action, (
              select a.action from public.provider_conversion_actions a
              where a.site_id = q.site_id and a.provider_key = q.provider_key
                and a.conversion_name = coalesce(
                  case when q.kind = 'CONVERSION' or exists (
                      select from public.provider_conversion_actions b where b.site_id = q.site_id
                        and b.provider_key = q.provider_key
                        and b.conversion_name = q.conversion_name) then q.conversion_name end,
                  p_name)))
            when q.conversion_action is not null and (q.may_have_arrived
                or exists (select from public.provider_dispatches d
                  where d.sale_id = q.sale_id and d.verdict is distinct from 'REJECTED'))
              then q.conversion_action end,
          claims = (p_token || q.claims)[1:50], handed_via = i.via,
          handed_vias_differ = q.handed_vias_differ or coalesce(q.handed_via <> i.via, false),
          click_kind = private.click_kind(s),
          identifiers_hash = private.identifiers_hash(
            i.salt, s.gclid, s.wbraid, s.gbraid, person.phone, person.email)
      -- Each row has its own salt: one for the batch would stay with the rows that are kept.
      from (
          select u.*, gen_random_uuid() as salt
          from unnest(p_ids, p_sale_ids, p_vias) with ordinality u (id, sale_id, via, position)) i
        join public.sales s on s.id = i.sale_id
        cross join lateral (
          select x.id, x.amount_cents from public.revenue_snapshots x
          where x.sale_id = s.id order by x.sequence desc limit 1) r
        left join public.calls c on c.id = s.call_id
        left join lateral (
          select x.chosen_at, 'marketing' = any (x.scopes) as is_given from public.consent_choices x
          where x.site_id = c.site_id and x.visitor_id = c.visitor_id
          order by x.chosen_at desc, x.id desc limit 1) choice on true
        -- A click without a call, or the hash of an e-mail address, is kept only where the customer
        -- of a sale from elsewhere agreed.
        cross join lateral (select case
          when s.call_id is null or s.email_hash is not null or choice.is_given then 'GRANTED'
          end as consent) said
        cross join lateral (select
          case when said.consent is not null
            then coalesce(s.customer_hash, private.phone_to_send(c)) end as phone,
          case when said.consent is not null then s.email_hash end as email) person
      where q.id = i.id and q.state = any (private.waiting_states()) and q.claim_token is null
        and s.delivery_block is null
        -- The visitor's choice since then; what Google has may still be corrected.
        and (q.kind <> 'CONVERSION'
          or coalesce(choice.is_given or choice.chosen_at <= s.occurred_at, true))
        and (s.status = 'CONFIRMED') = (q.kind <> 'RETRACT')
        and (r.amount_cents > 0) = (q.kind <> 'RETRACT')
      returning i.position, i.salt, i.via, q.id, q.site_id, q.provider_key, q.kind, q.order_id,
        q.conversion_name, q.conversion_action, q.value_cents, q.currency, q.conversion_time,
        q.attempt_count, q.may_have_arrived, q.sale_id, q.channel, s.gclid, s.wbraid, s.gbraid,
        said.consent, person.phone, person.email),
  identified as (
    insert into public.dispatch_identifiers as d
        (queue_id, site_id, gclid, wbraid, gbraid, customer_hash, email_hash, salt, handed_at)
      select c.id, c.site_id, c.gclid, c.wbraid, c.gbraid, c.phone, c.email, c.salt, v_now
      from claimed c
      on conflict (queue_id) do update
        set gclid = excluded.gclid, wbraid = excluded.wbraid, gbraid = excluded.gbraid,
            customer_hash = excluded.customer_hash, email_hash = excluded.email_hash,
            salt = excluded.salt, handed_at = excluded.handed_at),
  leased as (
    insert into private.queue_leases (token, site_id, claimed_at, row_ids)
      select p_token, c.site_id, v_now, array_agg(c.id) from claimed c group by c.site_id)
  select coalesce(jsonb_agg(jsonb_build_object(
      'id', c.id,
      'saleId', c.sale_id,
      'kind', c.kind,
      'orderId', c.order_id,
      'conversionName', coalesce(n.google_name, c.conversion_name),
      'conversionAction', c.conversion_action,
      'via', c.via,
      'valueCents', c.value_cents,
      'currency', c.currency,
      'conversionTime', c.conversion_time,
      'timezone', t.timezone,
      'attemptCount', c.attempt_count,
      'gclid', c.gclid,
      'wbraid', c.wbraid,
      'gbraid', c.gbraid,
      'customerHash', c.phone,
      'emailHash', c.email,
      'channel', c.channel,
      'consent', c.consent,
      'mayHaveArrived', c.may_have_arrived or exists (
        select from public.provider_dispatches d where d.sale_id = c.sale_id))
    order by c.position), '[]')
  into v_rows from claimed c join public.sites t on t.id = c.site_id
    left join private.action_names n
      on c.via is null and n.site_id = c.site_id and n.action = c.conversion_action;
  return v_rows;
end
$$;
