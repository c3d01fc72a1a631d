-- action_obstacle: why a row's conversion action keeps it from an API, as sendable_queue decides;
-- null when nothing does. `at` is since when Google refuses the action.
create function private.action_obstacle(
  p_row public.offline_conversion_queue, out code text, out at timestamptz
)
language sql stable security definer set search_path = ''
as $$
  select case
      when a.blocked_at is not null then a.blocked_code
      when p_row.conversion_action is not null then case
        when not n.has_lines then 'MISSING'
        when private.is_elsewhere(p_row.site_id, p_row.conversion_action) then 'OTHER_ACCOUNT' end
      when a.site_id is null then 'MISSING'
      when a.google_name <> a.conversion_name and p_row.kind = 'CONVERSION'
        and (p_row.may_have_arrived or exists (select from public.provider_dispatches d
          where d.sale_id = p_row.sale_id and d.verdict is distinct from 'REJECTED' offset 0))
        then 'NAME_DIFFERS' end,
    a.blocked_at
  from (select private.conversion_name(s, 'seal') as seal,
          exists (select from public.provider_conversion_actions x where x.site_id = s.id
            and x.provider_key = p_row.provider_key) as has_lines
        from public.sites s where s.id = p_row.site_id) n
    left join lateral (
      select x.* from public.provider_conversion_actions x
      where x.site_id = p_row.site_id and x.provider_key = p_row.provider_key
        and case when p_row.conversion_action is not null then x.action = p_row.conversion_action
          else x.conversion_name = coalesce(p_row.conversion_name, n.seal)
            or x.conversion_name = n.seal and p_row.kind <> 'CONVERSION' end
      order by x.conversion_name = coalesce(p_row.conversion_name, n.seal) desc,
        x.blocked_at nulls last limit 1) a on true
$$;

-- queue_rows_json: rows of one site as the screen shows them, in the order given. One query for a
-- page, with one plan that is kept: a function call per row took five times as long, and planning
-- 4 ms.
--   waitsFor   of a row that waits for something other than its time: RETRACTION (heldBy names the
--              earlier sale and its row), VERDICT, DAY (until waitsUntil), ACTION: the site has no
--              usable conversion action for the row's name, one that Google calls otherwise, or
--              one of another account than the row left for; or QUOTA: Google asked the site to
--              wait (until waitsUntil); or PAUSE: the owner paused sending (until waitsUntil).
--   takeBack   of a row that Google has, of a sale that was cancelled since: DONE when the
--              retraction was sent, else PENDING.
--   attemptError…  what the last real attempt met; the provider's fields may be a deferral since.
create function private.queue_rows_json(
  p_rows public.offline_conversion_queue[], p_max_attempts int
) returns jsonb
language plpgsql stable security definer set search_path = ''
  set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return (
  with allowed as materialized (
    select x.id, x.actions
    from private.allowed_actions((p_rows[1]).site_id, array(select r.id from unnest(p_rows) r)) x)
  select coalesce(jsonb_agg(jsonb_build_object(
      'id', q.id,
      'callId', q.call_id,
      'saleId', q.sale_id,
      'provider', q.provider_key,
      'kind', q.kind,
      'status', q.status,
      'orderId', q.order_id,
      -- A correction is made with what the sale is worth when it is made.
      'valueCents', case when q.kind = 'RESTATE' and w.is_waiting and s.status = 'CONFIRMED'
        then s.amount_cents else q.value_cents end,
      'currency', q.currency,
      'conversionTime', q.conversion_time,
      'channel', q.channel,
      'clickKind', case
        when s.gclid is not null then 'gclid'
        when s.gbraid is not null then 'gbraid'
        when s.wbraid is not null then 'wbraid' end,
      'phoneEnding', (
        select nullif(right(regexp_replace(c.phone, '\D', '', 'g'), 4), '')
        from public.calls c where c.id = q.call_id),
      'attemptCount', q.attempt_count,
      'attemptsLeft', greatest(0, p_max_attempts - (q.attempt_count - q.attempt_base)),
      'notBefore', q.not_before,
      'nextRetryAt', case when q.claim_token is null then q.next_retry_at end,
      'claimedAt', q.claimed_at,
      'stuck', q.status = 'PROCESSING' and q.claimed_at < n.stuck_before,
      'lastError', q.last_error,
      'providerErrorCode', q.provider_error_code,
      'providerErrorCategory', q.provider_error_category,
      'attemptError', q.attempt_error,
      'attemptErrorCode', q.attempt_error_code,
      'attemptErrorCategory', q.attempt_error_category,
      'freeWaits', q.free_waits,
      'byHandReason', q.by_hand_reason,
      'heldBy', h.held_by,
      'waitsFor', case
        when h.held_by is not null then 'RETRACTION'
        when b.waits_for is not null then b.waits_for
        when w.is_for_api and (private.action_obstacle(p_rows[i])).code is not null then 'ACTION'
        when p.paused_until is not null then 'PAUSE'
        when u.quota_until is not null then 'QUOTA' end,
      'waitsUntil', case
        when b.waits_for = 'DAY'
          then greatest(b.waits_until, p.paused_until, u.quota_until)
        when b.waits_for is null and h.held_by is null
          then greatest(p.paused_until, u.quota_until) end,
      'uploadedAt', q.uploaded_at,
      'providerRequestId', q.provider_request_id,
      'transport', d.transport,
      'verdict', d.verdict,
      'verdictReason', d.verdict_reason,
      'verdictAt', d.verdict_at,
      'allowedActions', coalesce(a.actions, '[]'),
      'takeBack', case
        when q.status = 'COMPLETED' and q.kind <> 'RETRACT' and s.status = 'CANCELED'
        then case when exists (select from public.provider_dispatches x
            where x.sale_id = q.sale_id and x.kind = 'RETRACT'
              and x.verdict is distinct from 'REJECTED' offset 0)
          then 'DONE' else 'PENDING' end end,
      'createdAt', q.created_at,
      'updatedAt', greatest(q.updated_at, q.claimed_at))
    order by i), '[]')
  from (select private.current_moment() - private.stuck_after() as stuck_before offset 0) n,
    generate_subscripts(p_rows, 1) i
    cross join lateral (select (p_rows[i]).*) q
    left join public.sales s on s.id = q.sale_id
    left join public.sites t on t.id = q.site_id
    left join allowed a on a.id = q.id
    cross join lateral (
      select q.status = any (private.waiting_states()) as is_waiting,
        q.status = any (private.waiting_states()) and q.by_hand_reason is null
          and t.oci_sync_method = 'api' as is_for_api) w
    left join lateral (
      select x.transport, x.verdict, x.verdict_reason, x.verdict_at
      from public.provider_dispatches x where x.sale_id = q.sale_id and x.queue_id = q.id
      order by x.dispatched_at desc, x.id desc limit 1) d on true
    left join lateral (
      select jsonb_build_object('saleId', x.by_sale_id, 'rowId', x.by_row_id) as held_by
      from private.held_sales x where x.sale_id = q.sale_id and x.provider_key = q.provider_key
      order by x.by_row_id desc limit 1) h on q.kind = 'CONVERSION' and w.is_waiting
    left join lateral (
      select x.waits_for, x.waits_until from private.adjustment_bases x
      -- Offset 0, here and above, keeps it a look-up for each row: joined or hashed, every dispatch
      -- was read.
      where x.sale_id = q.sale_id and x.provider_key = q.provider_key offset 0) b
      on q.kind <> 'CONVERSION' and w.is_for_api
    left join lateral (
      select greatest(x.quota_until, q.next_retry_at) as quota_until
      from public.provider_health_state x
      where x.site_id = q.site_id and x.provider_key = q.provider_key
        and x.quota_until > private.current_moment()) u on w.is_for_api
    left join lateral (
      select greatest(t.paused_until, q.not_before, q.next_retry_at) as paused_until
      where t.paused_until > private.current_moment()
        and t.paused_until > greatest(q.not_before, q.next_retry_at)) p
      on w.is_waiting and (q.kind = 'CONVERSION' or w.is_for_api));
end
$$;
