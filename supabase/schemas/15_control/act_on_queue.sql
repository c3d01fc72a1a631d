-- How people ask for an action: by ids, by a preview that froze what a filter matched, and how they
-- take it back.

-- preview_to_commit: the preview that an action names, locked.
--   Refuses  404 for another's, 409 PREVIEW_MISMATCH, 409 PREVIEW_EXPIRED before the first batch.
create function private.preview_to_commit(p_args jsonb) returns public.queue_action_previews
language plpgsql security definer set search_path = ''
as $$
declare
  v_preview public.queue_action_previews;
begin
  select p.* into v_preview from public.queue_action_previews p
    where p.id = (p_args ->> 'previewId')::uuid and p.site_id = (p_args ->> 'site')::uuid
      and p.actor_id = (p_args ->> 'actorId')::uuid
    for update;
  if v_preview.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if v_preview.digest is distinct from p_args ->> 'digest'
     or v_preview.action is distinct from p_args ->> 'action' then
    perform private.fail(409, 'PREVIEW_MISMATCH');
  end if;
  if v_preview.action_id is null and v_preview.expires_at <= private.current_moment() then
    perform private.fail(409, 'PREVIEW_EXPIRED');
  end if;
  return v_preview;
end
$$;

-- act_on_rows: the effect behind act_on_queue. By ids it ends at once; by a preview it takes the
-- next batch.
--   Takes    p_args {site, actorId, action, ids | previewId + digest, reason?, errorCode?,
--            errorCategory?, clearErrors?, overApi?, requestHash}
create function private.act_on_rows(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_preview public.queue_action_previews;
  v_action public.queue_actions;
  v_ids uuid[];
  v_from int;
  v_to int;
begin
  if p_args ? 'previewId' then
    v_preview := private.preview_to_commit(p_args);
    v_ids := v_preview.ids;
  else
    select array_agg(distinct i.id::uuid) into v_ids
      from jsonb_array_elements_text(p_args -> 'ids') i (id);
    if v_ids is null or cardinality(v_ids) > 1000 then
      perform private.fail(400, 'VALIDATION_FAILED', '{"field": "ids"}');
    end if;
  end if;
  if v_preview.action_id is null then
    insert into public.queue_actions (site_id, actor_kind, actor_id, action, reason, options,
        filter, total, created_at, updated_at)
      values ((p_args ->> 'site')::uuid, 'user', (p_args ->> 'actorId')::uuid,
        p_args ->> 'action', nullif(left(btrim(p_args ->> 'reason'), 500), ''),
        jsonb_strip_nulls(jsonb_build_object(
          'errorCode', p_args -> 'errorCode',
          'errorCategory', p_args -> 'errorCategory',
          'clearErrors', p_args -> 'clearErrors',
          'overApi', p_args -> 'overApi')),
        v_preview.filter, cardinality(v_ids), v_now, v_now)
      returning * into v_action;
    update public.queue_action_previews p set action_id = v_action.id where p.id = v_preview.id;
  else
    select a.* into v_action from public.queue_actions a
      where a.id = v_preview.action_id for update;
  end if;
  v_from := v_action.done + 1;
  v_to := v_action.done
    + case when p_args ? 'previewId' then private.action_batch() else 1000 end;
  return private.advance_queue_action(v_action.id,
    case when v_action.undone_by is null then v_ids[v_from:v_to] else '{}' end,
    v_preview.versions[v_from:v_to], p_args ->> 'requestHash');
end
$$;

-- act_on_queue: an operator's action on rows of the queue, answered once per key.
--   Takes    p_action {action, ids} or {action, previewId, digest}, and reason?, errorCode?,
--            errorCategory?, clearErrors?
--            overApi, with RETRY_SELECTED and ids: also sends what waits for a person.
--   Returns  {status, replayed, body}; the body {ok, actionId, affected, skipped, skippedCount,
--            done, total, cursor, undoUntil}: repeat while there is a cursor.
--   Callers  operators.
create function public.act_on_queue(
  p_public_id text, p_action jsonb, p_request_hash text, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
begin
  if private.action_statuses(p_action ->> 'action') is null then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "action"}');
  end if;
  -- Rules and screens read these. MANUAL_FAIL is what an operator's own code is without one.
  if upper(btrim(p_action ->> 'errorCode')) <> 'MANUAL_FAIL'
     and upper(btrim(p_action ->> 'errorCode')) = any (private.reserved_codes()) then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "errorCode"}');
  end if;
  if p_action ? 'overApi'
     and (p_action ->> 'action' <> 'RETRY_SELECTED' or not p_action ? 'ids') then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "overApi"}');
  end if;
  return private.answer_once(v_site.id, 'queue.action', p_key, p_request_hash,
    'private.act_on_rows'::regproc,
    jsonb_strip_nulls(p_action) || jsonb_build_object(
      'site', v_site.id,
      'actorId', auth.uid(),
      'requestHash', p_request_hash));
end
$$;
grant execute on function public.act_on_queue(text, jsonb, text, text) to authenticated;

-- undo_on_rows: the effect behind undo_queue_action: restores the rows that have not changed since,
-- one batch a call. It must begin in time, but may end later.
--   Refuses  409 UNDO_EXPIRED after ten minutes; 409 NOTHING_TO_UNDO for an undo, or when it is
--            done already.
create function private.undo_on_rows(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_undone public.queue_actions;
  v_undo public.queue_actions;
  v_ids uuid[];
  v_versions bigint[];
begin
  select a.* into v_undone from public.queue_actions a
    where a.id = (p_args ->> 'actionId')::uuid and a.site_id = (p_args ->> 'site')::uuid
    for update;
  if v_undone.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  select a.* into v_undo from public.queue_actions a where a.id = v_undone.undone_by for update;
  if v_undone.action = 'UNDO' or v_undone.affected = 0 or v_undo.done = v_undo.total then
    perform private.fail(409, 'NOTHING_TO_UNDO');
  end if;
  if v_undo.id is null then
    if v_undone.updated_at < v_now - private.undo_window() then
      perform private.fail(409, 'UNDO_EXPIRED');
    end if;
    insert into public.queue_actions (site_id, actor_kind, actor_id, action, undoes, total,
        created_at, updated_at)
      values (v_undone.site_id, 'user', (p_args ->> 'actorId')::uuid, 'UNDO', v_undone.id,
        v_undone.affected, v_now, v_now)
      returning * into v_undo;
    update public.queue_actions a set undone_by = v_undo.id where a.id = v_undone.id;
  end if;
  select array_agg(t.queue_id order by t.place), array_agg(t.version_after order by t.place)
    into v_ids, v_versions
    from (
      select r.* from private.queue_action_rows r
      where r.action_id = v_undone.id and r.skipped is null
      order by r.place offset v_undo.done limit private.action_batch()) t;
  return private.advance_queue_action(v_undo.id, v_ids, v_versions, p_args ->> 'requestHash');
end
$$;

-- undo_queue_action: take back an action within ten minutes, where nothing happened to its rows
-- since.
--   Takes    p_undo {actionId}
--   Callers  operators.
create function public.undo_queue_action(
  p_public_id text, p_undo jsonb, p_request_hash text, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
begin
  return private.answer_once(v_site.id, 'queue.undo', p_key, p_request_hash,
    'private.undo_on_rows'::regproc,
    jsonb_build_object(
      'actionId', p_undo -> 'actionId',
      'site', v_site.id,
      'actorId', auth.uid(),
      'requestHash', p_request_hash));
end
$$;
grant execute on function public.undo_queue_action(text, jsonb, text, text) to authenticated;
