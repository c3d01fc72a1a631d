-- Rows that a block stopped, and how they are queued again.

-- stopped_rows: ids of rows and signals that a worker's attempt left FAILED with the code that
-- blocks their conversion action. The caller has called hold_provider; the block still stands.
create function private.stopped_rows(p_site_id uuid, p_provider_key text) returns uuid[]
language sql stable security definer set search_path = ''
as $$
  select array(
    select q.id from public.provider_conversion_actions a
      join public.offline_conversion_queue q on q.site_id = a.site_id
        and q.provider_key = a.provider_key and q.conversion_name = a.conversion_name
        and q.provider_error_code = a.blocked_code
    where a.site_id = p_site_id and a.provider_key = p_provider_key and q.state = 'FAILED'
      and q.provider_error_category = 'VALIDATION' and q.handed_via is not null
      and q.attempt_error_code = q.provider_error_code
    union all
    select g.id from public.provider_conversion_actions a
      join public.marketing_signals g on g.site_id = a.site_id
        and g.conversion_name = a.conversion_name and g.provider_error_code = a.blocked_code
    where a.site_id = p_site_id and a.provider_key = p_provider_key
      and g.dispatch_status = 'FAILED' and g.provider_error_category = 'VALIDATION')
$$;

-- requeue_stopped: queues what a blocked action stopped, now that its block is over. The caller has
-- called hold_provider and locked no sale yet.
--   Takes    p_ids: what stopped_rows returned before the block ended.
--   Moves    rows whose name has a usable action now -> QUEUED with all attempts again, and such
--            signals -> PENDING. Rows that may no longer be sent, wait in another row, or belong to
--            another action stay FAILED.
--   Returns  how many queue rows were requeued.
create function private.requeue_stopped(
  p_site_id uuid, p_provider_key text, p_actor private.actor, p_ids uuid[]
) returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_released int;
begin
  if cardinality(p_ids) = 0 then
    return 0;
  end if;
  perform private.lock_with_sales(p_ids);
  perform private.act(p_actor, 'RELEASED');
  update public.offline_conversion_queue q
    set state = 'QUEUED', status = 'QUEUED', next_retry_at = null,
        attempt_base = q.attempt_count, updated_at = private.current_moment()
    from private.judge_queue_rows(p_site_id, 'RETRY_SELECTED', null, p_ids, null) j,
      public.provider_conversion_actions a
    where q.id = j.id and j.skipped is null and q.provider_error_category = 'VALIDATION'
      and a.site_id = p_site_id and a.provider_key = p_provider_key
      and a.conversion_name = q.conversion_name and a.blocked_at is null
      and coalesce(q.conversion_action, a.action) = a.action;
  get diagnostics v_released = row_count;
  update public.marketing_signals g
    set dispatch_status = 'PENDING', next_retry_at = null, attempt_base = g.attempt_count,
        updated_at = private.current_moment()
    where g.id in (select x.id from public.marketing_signals x
        join public.provider_conversion_actions a on a.site_id = x.site_id
          and a.provider_key = p_provider_key and a.conversion_name = x.conversion_name
          and a.blocked_at is null
      where x.id = any (p_ids) and x.dispatch_status = 'FAILED' for update of x skip locked);
  return v_released;
end
$$;

-- refused_rows: ids of rows that a worker's attempt left FAILED(AUTH). Failures of a script are not
-- among them.
create function private.refused_rows(p_site_id uuid, p_provider_key text) returns uuid[]
language sql stable security definer set search_path = ''
as $$
  select array(
    select q.id from public.offline_conversion_queue q
    where q.site_id = p_site_id and q.provider_key = p_provider_key and q.state = 'FAILED'
      and q.provider_error_category = 'AUTH' and q.handed_via is not null
      and q.attempt_error_category = 'AUTH' and q.attempt_error_code = q.provider_error_code)
$$;

-- requeue_refused: queues what Google refused for lack of access. The caller has called
-- hold_provider and locked no sale yet.
--   Moves    refused_rows -> QUEUED with all attempts again, and such signals -> PENDING. Rows that
--            may no longer be sent, or wait in another row, stay FAILED.
--   Returns  how many queue rows were requeued.
create function private.requeue_refused(
  p_site_id uuid, p_provider_key text, p_actor private.actor
) returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_ids uuid[] := private.refused_rows(p_site_id, p_provider_key);
  v_released int;
begin
  perform private.lock_with_sales(v_ids);
  perform private.act(p_actor, 'RELEASED');
  update public.offline_conversion_queue q
    set state = 'QUEUED', status = 'QUEUED', next_retry_at = null,
        attempt_base = q.attempt_count, updated_at = v_now
    from private.judge_queue_rows(p_site_id, 'RETRY_SELECTED', null, v_ids, null) j
    where q.id = j.id and j.skipped is null and q.provider_error_category = 'AUTH';
  get diagnostics v_released = row_count;
  -- A locked signal is skipped: its holder is about to fail it or to record that it was sent.
  update public.marketing_signals g
    set dispatch_status = 'PENDING', next_retry_at = null, attempt_base = g.attempt_count,
        updated_at = v_now
    where g.id in (select x.id from public.marketing_signals x
      where x.site_id = p_site_id and x.dispatch_status = 'FAILED'
        and x.provider_error_category = 'AUTH' for update skip locked);
  return v_released;
end
$$;
