-- How people ask for an action: by ids, by a preview that froze what a filter matched, and how they take it back.

-- act_on_rows: the effect behind act_on_queue. By ids it ends at once; by a preview it takes the next batch.
--   Takes    p_args {site, actorId, action, ids | previewId + digest, reason?, errorCode?, errorCategory?, clearErrors?, overApi?, requestHash}
create function private.act_on_rows(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site_id uuid := (p_args ->> 'site')::uuid;
  v_preview public.queue_action_previews;
  v_action public.queue_actions;
  v_ids uuid[];
  v_batch int := case when p_args ? 'previewId' then private.action_batch() else 1000 end;
begin
  if p_args ? 'previewId' then
    select p.* into v_preview from public.queue_action_previews p
      where p.id = (p_args ->> 'previewId')::uuid and p.site_id = v_site_id and p.actor_id = (p_args ->> 'actorId')::uuid for update;
    if v_preview.id is null then
      perform private.fail(404, 'NOT_FOUND');
    end if;
    if v_preview.digest is distinct from p_args ->> 'digest' or v_preview.action is distinct from p_args ->> 'action' then
      perform private.fail(409, 'PREVIEW_MISMATCH');
    end if;
    if v_preview.action_id is null and v_preview.expires_at <= v_now then
      perform private.fail(409, 'PREVIEW_EXPIRED');
    end if;
    v_ids := v_preview.ids;
  else
    select array_agg(distinct i.id::uuid) into v_ids from jsonb_array_elements_text(p_args -> 'ids') i (id);
    if v_ids is null or cardinality(v_ids) > 1000 then
      perform private.fail(400, 'VALIDATION_FAILED', '{"field": "ids"}');
    end if;
  end if;
  if v_preview.action_id is null then
    insert into public.queue_actions (site_id, actor_kind, actor_id, action, reason, options, filter, total, created_at, updated_at)
      values (v_site_id, 'user', (p_args ->> 'actorId')::uuid, p_args ->> 'action', nullif(left(btrim(p_args ->> 'reason'), 500), ''),
        jsonb_strip_nulls(jsonb_build_object('errorCode', p_args -> 'errorCode', 'errorCategory', p_args -> 'errorCategory', 'clearErrors', p_args -> 'clearErrors',
          'overApi', p_args -> 'overApi')),
        v_preview.filter, cardinality(v_ids), v_now, v_now) returning * into v_action;
    update public.queue_action_previews p set action_id = v_action.id where p.id = v_preview.id;
  else
    select a.* into v_action from public.queue_actions a where a.id = v_preview.action_id for update;
  end if;
  return private.advance_queue_action(v_action.id, case when v_action.undone_by is null then v_ids[v_action.done + 1 : v_action.done + v_batch] else '{}' end,
    v_preview.versions[v_action.done + 1 : v_action.done + v_batch], p_args ->> 'requestHash');
end
$$;

-- undo_on_rows: the effect behind undo_queue_action: rows that nobody touched since go back, a batch a call. Begun in time it may end late.
--   Refuses  409 UNDO_EXPIRED after ten minutes, 409 NOTHING_TO_UNDO for an undo, or when it is done already.
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
  select a.* into v_undone from public.queue_actions a where a.id = (p_args ->> 'actionId')::uuid and a.site_id = (p_args ->> 'site')::uuid for update;
  if v_undone.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  select a.* into v_undo from public.queue_actions a where a.id = v_undone.undone_by for update;
  if v_undone.action = 'UNDO' or v_undone.affected = 0 or v_undo.done = v_undo.total then
    perform private.fail(409, 'NOTHING_TO_UNDO');
  end if;
  if v_undo.id is null then
    if v_undone.updated_at < v_now - interval '10 minutes' then
      perform private.fail(409, 'UNDO_EXPIRED');
    end if;
    insert into public.queue_actions (site_id, actor_kind, actor_id, action, undoes, total, created_at, updated_at)
      values (v_undone.site_id, 'user', (p_args ->> 'actorId')::uuid, 'UNDO', v_undone.id, v_undone.affected, v_now, v_now) returning * into v_undo;
    update public.queue_actions a set undone_by = v_undo.id where a.id = v_undone.id;
  end if;
  select array_agg(t.queue_id order by t.place), array_agg(t.version_after order by t.place) into v_ids, v_versions
    from (select r.* from private.queue_action_rows r where r.action_id = v_undone.id and r.skipped is null order by r.place offset v_undo.done limit private.action_batch()) t;
  return private.advance_queue_action(v_undo.id, v_ids, v_versions, p_args ->> 'requestHash');
end
$$;

-- act_on_queue: an operator's action on rows of the queue, answered once per key.
--   Takes    p_action {action, ids} or {action, previewId, digest}, and reason?, errorCode?, errorCategory?, clearErrors?
--            overApi, with RETRY_SELECTED and ids: a person's work is sent all the same.
--   Returns  {status, replayed, body}; the body {ok, actionId, affected, skipped, skippedCount, done, total, cursor, undoUntil}: repeat while there is a cursor.
--   Callers  operators.
create function public.act_on_queue(p_public_id text, p_action jsonb, p_request_hash text, p_key text default null) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
begin
  if private.action_statuses(p_action ->> 'action') is null then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "action"}');
  end if;
  if p_action ->> 'errorCode' in ('SALE_CANCELLED', 'SUPERSEDED') then   -- rules read these: the first comes back with the sale, the second never
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "errorCode"}');
  end if;
  if p_action ? 'overApi' and (p_action ->> 'action' <> 'RETRY_SELECTED' or not p_action ? 'ids') then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "overApi"}');
  end if;
  return private.answer_once(v_site.id, 'queue.action', p_key, p_request_hash, 'private.act_on_rows'::regproc,
    jsonb_strip_nulls(p_action) || jsonb_build_object('site', v_site.id, 'actorId', auth.uid(), 'requestHash', p_request_hash));
end
$$;

-- undo_queue_action: take back an action within ten minutes, where nothing happened to its rows since.
--   Takes    p_undo {actionId}
--   Callers  operators.
create function public.undo_queue_action(p_public_id text, p_undo jsonb, p_request_hash text, p_key text default null) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
begin
  return private.answer_once(v_site.id, 'queue.undo', p_key, p_request_hash, 'private.undo_on_rows'::regproc,
    jsonb_build_object('actionId', p_undo -> 'actionId', 'site', v_site.id, 'actorId', auth.uid(), 'requestHash', p_request_hash));
end
$$;

-- preview_queue_action: what an action on everything that matches a filter would do, and the set frozen for 15 minutes.
--   Freezes  the rows that would change, at most 100,000, with their versions: rows that match later, or moved meanwhile, are not touched by the commit.
--   Returns  {previewId, digest, expiresAt, action, count, valueCents, byStatus, ineligible, sample, truncated}.
--   Callers  operators.
create function public.preview_queue_action(
  p_public_id text, p_action text, p_filter jsonb, p_max_attempts int
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_now timestamptz := private.current_moment();
  v_preview public.queue_action_previews;
  v_matching uuid[];
  v_facts jsonb;
begin
  if private.action_statuses(p_action) is null then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "action"}');
  end if;
  delete from public.queue_action_previews p where p.site_id = v_site.id and p.expires_at < v_now - interval '1 day';
  select array_agg(m.id) into v_matching from private.matching_rows(v_site.id, p_filter, null, null, 100001) m;
  with judged as materialized (
    select j.*, q.value_cents, q.currency, q.version
    from private.judge_queue_rows(v_site.id, p_action, null, v_matching[1:100000], null) j join private.versioned_queue q on q.id = j.id)
  select array_agg(j.id order by j.place) filter (where j.skipped is null), array_agg(j.version order by j.place) filter (where j.skipped is null),
      jsonb_build_object('count', count(*) filter (where j.skipped is null),
        'valueCents', (select coalesce(jsonb_object_agg(v.currency, v.cents), '{}') from
          (select x.currency, sum(x.value_cents) as cents from judged x where x.skipped is null group by 1) v),
        'byStatus', (select coalesce(jsonb_object_agg(s.from_status, s.n), '{}') from
          (select x.from_status, count(*) as n from judged x where x.skipped is null group by 1) s),
        'ineligible', (select coalesce(jsonb_object_agg(s.skipped, s.n), '{}') from
          (select x.skipped, count(*) as n from judged x where x.skipped is not null group by 1) s))
    into v_preview.ids, v_preview.versions, v_facts from judged j;
  insert into public.queue_action_previews (site_id, actor_id, action, filter, ids, versions, digest, created_at, expires_at)
    values (v_site.id, auth.uid(), p_action, p_filter, coalesce(v_preview.ids, '{}'), coalesce(v_preview.versions, '{}'),
      encode(sha256(convert_to(concat_ws('|', v_site.public_id, p_action, array_to_string(v_preview.ids, ','), array_to_string(v_preview.versions, ',')), 'UTF8')), 'hex'),
      v_now, v_now + interval '15 minutes') returning * into v_preview;
  return v_facts || jsonb_build_object('previewId', v_preview.id, 'digest', v_preview.digest, 'expiresAt', v_preview.expires_at, 'action', p_action,
    'truncated', coalesce(cardinality(v_matching), 0) > 100000,
    'sample', private.queue_rows_json(array(select q from public.offline_conversion_queue q where q.id = any (v_preview.ids[1:5])
      order by array_position(v_preview.ids[1:5], q.id)), p_max_attempts));
end
$$;

-- list_queue_actions: who did what with a site's rows, newest first, at most 50.
--   Callers  viewers.
create function public.list_queue_actions(p_public_id text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object('actionId', a.id, 'action', a.action, 'by', private.actor_json(a.actor_kind, a.actor_id), 'reason', a.reason,
      'filter', a.filter, 'undoes', a.undoes, 'undoneBy', a.undone_by, 'total', a.total, 'done', a.done, 'affected', a.affected, 'at', a.created_at,
      'undoUntil', case when a.action <> 'UNDO' and a.affected > 0 and a.undone_by is null and a.updated_at > private.current_moment() - interval '10 minutes'
        then a.updated_at + interval '10 minutes' end) order by a.created_at desc, a.id desc), '[]')
  from (select x.* from public.queue_actions x where x.site_id = (private.require_site(p_public_id, 'viewer')).id order by x.created_at desc, x.id desc limit 50) a
$$;

grant execute on function
  public.act_on_queue(text, jsonb, text, text),
  public.undo_queue_action(text, jsonb, text, text),
  public.preview_queue_action(text, text, jsonb, int),
  public.list_queue_actions(text)
to authenticated;
