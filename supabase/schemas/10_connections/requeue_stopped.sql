-- Rows that a connection stopped, and how they are queued again.

-- stopped_rows: rows and signals that a worker's attempt left FAILED because Google refuses their
-- conversion action, which is blocked for that. Called with hold_provider, before the block ends.
create function private.stopped_rows(p_site_id uuid, p_provider_key text) returns uuid[]
language sql stable security definer set search_path = ''
as $$
  select array(
    select q.id from public.provider_conversion_actions a
      join public.offline_conversion_queue q on q.site_id = a.site_id
        and q.provider_key = a.provider_key and q.conversion_name = a.conversion_name
        and q.provider_error_code = a.blocked_code
    where a.site_id = p_site_id and a.provider_key = p_provider_key and q.status = 'FAILED'
      and q.provider_error_category = 'VALIDATION' and q.handed_via is not null
      and q.attempt_error_code = q.provider_error_code
    union all
    select g.id from public.provider_conversion_actions a
      join public.marketing_signals g on g.site_id = a.site_id
        and g.conversion_name = a.conversion_name and g.provider_error_code = a.blocked_code
    where a.site_id = p_site_id and a.provider_key = p_provider_key
      and g.dispatch_status = 'FAILED' and g.provider_error_category = 'VALIDATION')
$$;

-- requeue_stopped: what found a blocked action is sent after all, now that the block is over.
-- Called with hold_provider, before any sale is locked.
--   Takes    p_ids: stopped_rows, as they were before.
--   Moves    rows whose name has a usable action now -> QUEUED with a fresh budget, and such
--            signals -> PENDING. What came to nothing meanwhile, waits in another row, or is bound
--            to another action, stays.
--   Returns  how many rows of the queue.
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
    set status = 'QUEUED', next_retry_at = null, attempt_base = q.attempt_count,
        updated_at = private.current_moment()
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

-- refused_rows: rows that a worker's attempt left FAILED(AUTH). A script's failures are not the
-- API's to release.
create function private.refused_rows(p_site_id uuid, p_provider_key text) returns uuid[]
language sql stable security definer set search_path = ''
as $$
  select array(
    select q.id from public.offline_conversion_queue q
    where q.site_id = p_site_id and q.provider_key = p_provider_key and q.status = 'FAILED'
      and q.provider_error_category = 'AUTH' and q.handed_via is not null
      and q.attempt_error_category = 'AUTH' and q.attempt_error_code = q.provider_error_code)
$$;

-- requeue_refused: what was refused access is sent after all. Called with hold_provider, before any
-- sale is locked.
--   Moves    refused_rows -> QUEUED with a fresh budget, and such signals -> PENDING. What came to
--            nothing meanwhile, or waits in another row, stays where it is.
--   Returns  how many rows of the queue.
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
    set status = 'QUEUED', next_retry_at = null, attempt_base = q.attempt_count,
        updated_at = v_now
    from private.judge_queue_rows(p_site_id, 'RETRY_SELECTED', null, v_ids, null) j
    where q.id = j.id and j.skipped is null and q.provider_error_category = 'AUTH';
  get diagnostics v_released = row_count;
  -- Whoever holds such a signal is about to end it or to say that it was sent.
  update public.marketing_signals g
    set dispatch_status = 'PENDING', next_retry_at = null, attempt_base = g.attempt_count,
        updated_at = v_now
    where g.id in (select x.id from public.marketing_signals x
      where x.site_id = p_site_id and x.dispatch_status = 'FAILED'
        and x.provider_error_category = 'AUTH' for update skip locked);
  return v_released;
end
$$;
