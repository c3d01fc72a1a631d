-- list_offline_conversion_groups: which (site, provider) have something due for a worker.
--   Reads    each due row of each connected site once, some 10 µs a row: half a second when 50,000
--            are due, which happens only after an outage. Rows that wait for later are
--            not read.
--   Returns  [{site_id, provider_key, queued_count (what could be claimed now), min_next_retry_at
--            (null when a row was never deferred), min_created_at, state, probe_limit,
--            next_probe_at, is_probe_due, served_at}], in the order in which they should be served.
--            A site that is blocked or not connected is left out; one with an open circuit is not.
--   Callers  service role only.
create function public.list_offline_conversion_groups(
  p_limit_groups int default 50, p_max_attempts int default private.max_attempts()
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  with due as (
    select g.site_id, g.provider_key, d.queued_count, d.min_next_retry_at, d.min_created_at,
      g.state, g.probe_limit, g.next_probe_at,
      g.state = 'OPEN' and g.next_probe_at <= private.current_moment() as is_probe_due,
      g.served_at
    from private.open_connections g
    cross join lateral (
      select count(*) as queued_count,
        case when bool_or(r.next_retry_at is null) then null else min(r.next_retry_at) end
          as min_next_retry_at,
        min(r.created_at) as min_created_at
      from private.sendable_queue r
      where r.site_id = g.site_id and r.provider_key = g.provider_key
        and r.attempt_count - r.attempt_base < p_max_attempts) d
    where d.queued_count > 0
    order by d.min_next_retry_at nulls first, d.min_created_at, g.site_id
    limit least(greatest(p_limit_groups, 1), 10000))
  select coalesce(jsonb_agg(to_jsonb(due.*)
    order by due.min_next_retry_at nulls first, due.min_created_at, due.site_id), '[]') from due
$$;
grant execute on function public.list_offline_conversion_groups(int, int)
  to opsmantik_app, service_role;

-- defer_offline_conversion_jobs: defers due rows, because nothing may be sent now (circuit,
-- semaphore). No attempt is spent.
--   Moves    QUEUED/RETRY -> RETRY, at most p_limit rows; each waits up to p_jitter_seconds longer,
--            so that they do not return together. The error of the last real attempt stays.
--   Writes   STARTED and FINISHED in the ledger of attempts, when a row was deferred.
--   Returns  {deferred}.
--   Callers  service role only.
create function public.defer_offline_conversion_jobs(
  p_site_id uuid, p_provider_key text, p_limit int, p_until timestamptz, p_code text,
  p_message text, p_jitter_seconds int default 0, p_max_attempts int default private.max_attempts()
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_due record;
  v_deferred int;
begin
  if not exists (select from private.open_connections c
      where c.site_id = p_site_id and c.provider_key = p_provider_key) then
    return '{"deferred": 0}';
  end if;
  v_due := private.lock_due(p_site_id, p_provider_key, least(greatest(p_limit, 0), 5000),
    p_max_attempts, null, true);
  perform private.act(('system', null)::private.actor, 'DEFERRED');
  update public.offline_conversion_queue q
    set state = 'RETRY',
        status = 'RETRY',
        next_retry_at = p_until + random() * make_interval(secs => p_jitter_seconds),
        provider_error_code = left(p_code, 64), provider_error_category = 'TRANSIENT',
        last_error = left(p_message, 1024), updated_at = private.current_moment()
    where q.id = any (v_due.row_ids);
  get diagnostics v_deferred = row_count;
  if v_deferred > 0 then
    perform private.record_deferral(p_site_id, p_provider_key, v_deferred, p_code);
  end if;
  return jsonb_build_object('deferred', v_deferred);
end
$$;
grant execute on function public.defer_offline_conversion_jobs(
    uuid, text, int, timestamptz, text, text, int, int)
  to opsmantik_app, service_role;

-- conversion_job: one row as a worker would be handed it now, without claiming it. For a dry run:
-- Google says whether it would take the row, and neither side stores anything.
--   Returns  a row as claim_offline_conversion_jobs_v2 gives it, and isChosenAction: whether its
--            action is the one that its name means now. Null when it is not this site's, when the
--            site is not connected, or without a conversion action for its name.
--   Callers  service role only.
create function public.conversion_job(p_site_id uuid, p_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'id', q.id,
    'saleId', q.sale_id,
    'kind', q.kind,
    'orderId', q.order_id,
    'conversionName', n.name,
    'conversionAction', coalesce(q.conversion_action, a.action),
    'isChosenAction', coalesce(a.conversion_name = n.name
      and a.action = coalesce(q.conversion_action, a.action), false),
    'via', case
      when q.kind = 'CONVERSION' or q.kind = 'RESTATE' and coalesce(b.takes_restatements, false)
      then c.transport else 'ads_api' end,
    'valueCents', r.amount_cents,
    'currency', q.currency,
    'conversionTime', q.conversion_time,
    'timezone', t.timezone,
    'attemptCount', q.attempt_count + 1,
    'gclid', s.gclid,
    'wbraid', s.wbraid,
    'gbraid', s.gbraid,
    'customerHash', case when said.consent is not null
      then coalesce(s.customer_hash, private.phone_to_send(l)) end,
    'emailHash', case when said.consent is not null then s.email_hash end,
    'channel', q.channel,
    'consent', said.consent,
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
  where q.id = p_id and q.site_id = p_site_id
    and coalesce(q.conversion_action, a.action) is not null
$$;
grant execute on function public.conversion_job(uuid, uuid) to opsmantik_app, service_role;
