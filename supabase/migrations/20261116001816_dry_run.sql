-- conversion_job: one row as a worker would be handed it now, without claiming it. For a dry run:
-- Google says whether it would take the row, and neither side keeps anything.
--   Returns  a row as claim_offline_conversion_jobs_v2 gives it, and isChosenAction: whether its
--            action is the one that its name means now. Null when it is not this site's, when the
--            site is not connected, or without a conversion action for its name.
--   Callers  service role only.
create function public.conversion_job(p_site_id uuid, p_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('id', q.id, 'saleId', q.sale_id, 'kind', q.kind, 'orderId', q.order_id,
    'conversionName', n.name,
    'conversionAction', coalesce(q.conversion_action, a.action),
    'isChosenAction', coalesce(a.conversion_name = n.name
      and a.action = coalesce(q.conversion_action, a.action), false),
    'via', case when q.kind = 'CONVERSION' or q.kind = 'RESTATE' and coalesce(b.takes_restatements, false)
      then c.transport else 'ads_api' end,
    'valueCents', r.amount_cents, 'currency', q.currency, 'conversionTime', q.conversion_time,
    'timezone', t.timezone, 'attemptCount', q.attempt_count + 1,
    'gclid', s.gclid, 'wbraid', s.wbraid, 'gbraid', s.gbraid, 'clickedAt', s.clicked_at,
    'customerHash', case when said.consent is not null
      then coalesce(s.customer_hash, l.caller_hash) end,
    'emailHash', case when said.consent is not null then s.email_hash end,
    'channel', q.channel, 'consent', said.consent,
    'mayHaveArrived', q.may_have_arrived or q.status = 'PROCESSING' or exists (
      select from public.provider_dispatches d where d.sale_id = q.sale_id))
  from public.offline_conversion_queue q
    join public.sites t on t.id = q.site_id
    join public.sales s on s.id = q.sale_id
    join public.provider_credentials c on c.site_id = q.site_id and c.provider_key = q.provider_key
    cross join lateral (
      select coalesce(q.conversion_name, private.conversion_name(t, 'seal')) as name) n
    left join lateral (   -- an adjustment takes the seal's where its name has none
      select x.conversion_name, x.action from public.provider_conversion_actions x
      where x.site_id = q.site_id and x.provider_key = q.provider_key
        and (x.conversion_name = n.name or q.kind <> 'CONVERSION'
          and x.conversion_name = private.conversion_name(t, 'seal'))
      order by x.conversion_name = n.name desc limit 1) a on true
    cross join lateral private.newest_snapshot(q.sale_id) r
    left join private.adjustment_bases b
      on b.sale_id = q.sale_id and b.provider_key = q.provider_key
    left join public.calls l on l.id = s.call_id
    left join lateral (
      select 'marketing' = any (x.scopes) as is_given from public.consent_choices x
      where x.site_id = l.site_id and x.visitor_id = l.visitor_id
      order by x.chosen_at desc, x.id desc limit 1) choice on true
    cross join lateral (
      select case when s.call_id is null or s.email_hash is not null or choice.is_given
        then 'GRANTED' end as consent) said
  where q.id = p_id and q.site_id = p_site_id and coalesce(q.conversion_action, a.action) is not null
$$;

grant execute on function public.conversion_job(uuid, uuid) to opsmantik_app, service_role;
