-- Signals for workers: stages before the seal, sent by API where a site's owner switched them on.
-- They share circuit, block, ledger and metrics with the queue's rows, and take what is left of a
-- run's limit.

-- due_signal_jobs: the sendable signals of a connected API site, one rule for list and claim: on
-- top of sendable_signals, the name has an action that is not blocked. As with sales, what a script
-- may have uploaded goes only to the action that Google calls by the same name, and what was sent
-- to an action of another account waits. No more than are left of the site's day.
--   Safe     for claims: called once for a (site, provider), never for a row.
create function private.due_signal_jobs(
  p_site_id uuid, p_provider_key text, p_max_attempts int
) returns table (
  id uuid, conversion_name text, action text, consent text, next_retry_at timestamptz,
  created_at timestamptz
)
language sql stable security definer set search_path = ''
as $$
  with names as materialized (
    select n.key, n.name
    from public.sites s, private.sent_names(s) n
    where s.id = p_site_id and s.archived_at is null)
  select t.id, t.conversion_name, t.action, t.consent, t.next_retry_at, t.created_at
  from (select g.id, a.conversion_name, coalesce(g.conversion_action, a.action) as action,
      g.consent, g.next_retry_at, g.created_at, g.is_counted, row_number() over (
        partition by g.is_counted order by g.next_retry_at nulls first, g.created_at, g.id) as place
    from private.sendable_signals g
      join names n on n.key = g.signal_type
      join public.provider_conversion_actions a on a.site_id = g.site_id
        and a.provider_key = p_provider_key and a.blocked_at is null
        and a.conversion_name = coalesce(g.conversion_name, n.name)
        and (g.conversion_action is null
          or split_part(g.conversion_action, '/', 2) = split_part(a.action, '/', 2))
        and (a.google_name is null or a.google_name = a.conversion_name
          or g.conversion_action is not null or not g.may_have_arrived)
    where g.site_id = p_site_id and g.oci_sync_method = 'api'
      and g.attempt_count - g.attempt_base < p_max_attempts) t
  where t.is_counted or t.place <= (select private.signals_left_today(p_site_id))
$$;

-- list_signal_groups: the (site, provider) pairs with signals due for a worker.
--   Returns  as list_offline_conversion_groups: [{site_id, provider_key, queued_count,
--            min_next_retry_at, min_created_at, state, probe_limit, next_probe_at, is_probe_due,
--            served_at}], in the order in which they should be served. Blocked and unconnected
--            sites are not listed; open circuits are.
--   Callers  service role only.
create function public.list_signal_groups(
  p_limit_groups int default 50, p_max_attempts int default private.max_attempts()
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  with due as (
    select c.site_id, c.provider_key, d.queued_count, d.min_next_retry_at, d.min_created_at,
      h.state, h.probe_limit, h.next_probe_at,
      h.state <> 'CLOSED' and h.next_probe_at <= private.current_moment() as is_probe_due,
      t.served_at
    from public.provider_credentials c
      join public.provider_health_state h
        on h.site_id = c.site_id and h.provider_key = c.provider_key and h.blocked_at is null
          and (h.quota_until is null or h.quota_until <= private.current_moment())
      left join private.delivery_turns t
        on t.site_id = c.site_id and t.provider_key = c.provider_key and t.pipeline = 'signals'
      cross join lateral (
        select count(*) as queued_count, min(j.created_at) as min_created_at,
          case when bool_or(j.next_retry_at is null) then null else min(j.next_retry_at) end
            as min_next_retry_at
        from private.due_signal_jobs(c.site_id, c.provider_key, p_max_attempts) j) d
    where d.queued_count > 0
    order by d.min_next_retry_at nulls first, d.min_created_at, c.site_id
    limit least(greatest(p_limit_groups, 1), 10000))
  select coalesce(jsonb_agg(to_jsonb(due.*)
    order by due.min_next_retry_at nulls first, due.min_created_at, due.site_id), '[]') from due
$$;
grant execute on function public.list_signal_groups(int, int) to opsmantik_app, service_role;

-- claim_marketing_signal_jobs: lease up to p_limit due signals of one (site, provider) to a worker.
--   Moves    PENDING -> PROCESSING, one attempt each. A signal keeps the name and action of its
--            first claim.
--   Safe     from many workers at once: the gate's lock lets one claim at a time.
--   Returns  {token, gate, rows, batch: {credentialsVersion}} as claim_offline_conversion_jobs_v2;
--            a row also has its signalType. A probe that finds no rows gives its lease back.
--   Callers  service role only.
create function public.claim_marketing_signal_jobs(
  p_site_id uuid, p_provider_key text, p_limit int,
  p_max_attempts int default private.max_attempts()
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_token uuid := gen_random_uuid();
  v_gate record := private.pass_gate(p_site_id, p_provider_key, v_token, 'signals');
  v_limit int := least(greatest(p_limit, 0), 1000,
    case v_gate.gate when 'HALF_OPEN' then v_gate.probe_limit end);
  v_rows jsonb := '[]';
begin
  if v_gate.gate in ('CLOSED', 'HALF_OPEN') and private.hold_signals(p_site_id) then
    with due as materialized (
      select j.id, j.conversion_name, j.action, j.consent
      from private.due_signal_jobs(p_site_id, p_provider_key, p_max_attempts) j
      order by j.next_retry_at nulls first, j.created_at, j.id limit v_limit),
    mine as materialized (
      select g.id from public.marketing_signals g
      where g.id in (select d.id from due d) and g.dispatch_status = 'PENDING'
      order by g.id for update skip locked),
    claimed as (
      update public.marketing_signals g
        set dispatch_status = 'PROCESSING', claim_token = v_token, claimed_at = v_now,
            attempt_count = g.attempt_count + 1, next_retry_at = null, updated_at = v_now,
            conversion_name = d.conversion_name, conversion_action = d.action,
            last_claim = v_token, last_claimed_at = v_now, claimed_before_at = g.last_claimed_at
        from mine m join due d on d.id = m.id
        where g.id = m.id
        returning g.*, d.consent)
    select coalesce(jsonb_agg(jsonb_build_object(
          'id', g.id,
          'kind', 'CONVERSION',
          'signalType', g.signal_type,
          'orderId', g.order_id,
          'conversionName', g.conversion_name,
          'conversionAction', g.conversion_action,
          'via', v_gate.transport,
          'valueCents', g.conversion_value * 100,
          'currency', g.currency,
          'conversionTime', g.occurred_at,
          'timezone', s.timezone,
          'attemptCount', g.attempt_count,
          'gclid', c.gclid,
          'wbraid', c.wbraid,
          'gbraid', c.gbraid,
          'customerHash', null,
          'emailHash', null,
          'channel', c.channel,
          'consent', g.consent,
          'mayHaveArrived', g.may_have_arrived)
        order by g.occurred_at, g.id), '[]')
      into v_rows
      from claimed g join public.calls c on c.id = g.call_id
        join public.sites s on s.id = g.site_id;
  end if;
  if jsonb_array_length(v_rows) > 0 then
    perform private.start_batch(p_site_id, p_provider_key, v_token, 'signals',
      jsonb_array_length(v_rows));
  elsif v_gate.gate = 'HALF_OPEN' then
    perform private.return_probe(p_site_id, p_provider_key, v_token);
  end if;
  return jsonb_build_object(
    'token', v_token,
    'gate', v_gate.gate,
    'rows', v_rows,
    'batch', jsonb_build_object('credentialsVersion', v_gate.credentials_version));
end
$$;
grant execute on function public.claim_marketing_signal_jobs(uuid, text, int, int)
  to opsmantik_app, service_role;
