-- action_batch: how many rows one call changes. A thousand take less than a second, proofs
-- included: well within every timeout on the way.
create function private.action_batch() returns int
language sql stable set search_path = ''
as $$
  select least(
    coalesce(nullif(current_setting('opsmantik.action_batch', true), '')::int, 1000), 1000)
$$;

-- change_queue_rows: one batch of an action.
--   Moves    as the action says, or back for UNDO. QUEUED clears claim and next_retry_at and gives
--            a fresh budget; errors stay unless clearErrors.
--            An adjustment that the API refused is sent to it again only with overApi, for rows
--            chosen by id; otherwise it stays a person's work. No API ever adjusts
--            what was found by a wbraid, or what another account has.
--   Safe     against claims, answers and the ledger at the same time: sales are locked before rows,
--            both in order of id.
--   Returns  {affected, skipped}.
create function private.change_queue_rows(
  p_action public.queue_actions, p_ids uuid[], p_versions bigint[], p_request_hash text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_actor private.actor := (p_action.actor_kind, p_action.actor_id)::private.actor;
  v_contract text := (
    select c.contract_version from public.contracts c where c.contract = 'conversion');
  v_is_undo boolean := p_action.action = 'UNDO';
  v_is_fail boolean := p_action.action = 'MARK_FAILED';
  v_over_api boolean := coalesce((p_action.options ->> 'overApi')::boolean, false);
  v_clear boolean := p_action.action = 'RESET_TO_QUEUED'
    and coalesce((p_action.options ->> 'clearErrors')::boolean, false);
  v_answer jsonb;
  v_changed uuid[];
  v_sale_id uuid;
begin
  perform private.lock_with_sales(private.of_this_site(p_action.site_id, p_ids));
  perform private.act(v_actor, p_action.action);
  with judged as materialized (
    select j.*, u.before as back, private.queue_row_state(q) as before
    from private.judge_queue_rows(p_action.site_id, p_action.action, p_action.undoes, p_ids,
        p_versions, v_over_api) j
      left join public.offline_conversion_queue q
        on q.id = j.id and q.site_id = p_action.site_id
      left join private.queue_action_rows u
        on u.action_id = p_action.undoes and u.queue_id = j.id),
  changed as (
    update public.offline_conversion_queue q
      set state = case when v_is_undo then j.back ->> 'state' else j.to_status end,
          status = j.to_status,
          tries = q.attempt_count - (j.to_status = 'PROCESSING')::int,   -- an undo: in flight again
          updated_at = v_now, is_plain = q.is_plain and q.attempt_count = 0,
          claimed_at = case when v_is_undo then (j.back ->> 'claimedAt')::timestamptz end,
          claim_token = case when v_is_undo then (j.back ->> 'claimToken')::uuid end,
          next_retry_at = case when v_is_undo then (j.back ->> 'nextRetryAt')::timestamptz end,
          attempt_base = case
            when v_is_undo then (j.back ->> 'attemptBase')::int
            when j.to_status = 'QUEUED' then q.attempt_count
            else q.attempt_base end,
          provider_error_code = case
            when v_is_undo then j.back ->> 'errorCode'
            when v_is_fail then coalesce(p_action.options ->> 'errorCode', 'MANUAL_FAIL')
            when not v_clear then q.provider_error_code end,
          provider_error_category = case
            when v_is_undo then j.back ->> 'errorCategory'
            when v_is_fail then coalesce(p_action.options ->> 'errorCategory', 'PERMANENT')
            when not v_clear then q.provider_error_category end,
          last_error = case
            when v_is_undo then j.back ->> 'lastError'
            when v_is_fail then coalesce(p_action.reason, 'MANUALLY_MARKED_FAILED')
            when not v_clear then q.last_error end,
          attempt_error = case
            when v_is_undo then j.back ->> 'attemptError'
            when not v_clear then q.attempt_error end,
          attempt_error_code = case
            when v_is_undo then j.back ->> 'attemptErrorCode'
            when not v_clear then q.attempt_error_code end,
          attempt_error_category = case
            when v_is_undo then j.back ->> 'attemptErrorCategory'
            when not v_clear then q.attempt_error_category end,
          may_have_arrived = case
            when v_is_undo then j.back ? 'mayHaveArrived'
            else q.may_have_arrived or q.status = 'PROCESSING' end,
          by_hand_reason = case
            when v_is_undo then j.back ->> 'byHandReason'
            when not v_over_api or private.api_never_adjusts(q.by_hand_reason)
              then q.by_hand_reason end
      from judged j where q.id = j.id and j.skipped is null
      returning q.*),
  leased as (   -- back in flight under its claim, whose lease may have ended meanwhile
    insert into private.queue_leases as l (token, site_id, claimed_at, row_ids)
      select c.claim_token, c.site_id, min(c.claimed_at), array_agg(c.id)
      from changed c where c.claim_token is not null group by 1, 2 order by 1
      on conflict (token) do update set row_ids = l.row_ids || array(
        select i from unnest(excluded.row_ids) i where i <> all (l.row_ids))),
  proven as materialized (
    select private.uuid_v7() as proof_id, c.id as queue_id, c.sale_id, j.place, j.from_status,
      c.status as to_status, j.before, private.queue_row_state(c) as after,
      private.queue_row_version(c) as version_after,
      jsonb_strip_nulls(jsonb_build_object(
        'saleId', c.sale_id,
        'attemptCount', c.attempt_count,
        'actionId', p_action.id,
        'undo', case when v_is_undo then true end)) as facts
    from changed c join judged j on j.id = c.id),
  proofs as (
    insert into public.transition_proofs
      select p.proof_id, p_action.site_id, 'conversion', v_contract, p.queue_id, p.from_status,
        p.to_status, p_action.actor_kind, p_action.actor_id, p.facts, p_request_hash, v_now,
        private.proof_hash(row(p.proof_id, p_action.site_id, 'conversion', v_contract, p.queue_id,
          p.from_status, p.to_status, p_action.actor_kind, p_action.actor_id, p.facts,
          p_request_hash, v_now, '')::public.transition_proofs)
      from proven p),
  unsealed as (
    insert into private.unsealed_proofs (proof_id, site_id)
      select p.proof_id, p_action.site_id from proven p),
  notes as (
    insert into private.proof_notes (proof_id, note)
      select p.proof_id, p_action.reason from proven p where p_action.reason is not null),
  recorded as (
    insert into private.queue_action_rows (action_id, place, queue_id, skipped, before, after,
        version_after, proof_id)
      select p_action.id, p_action.done + j.place, j.id, j.skipped, j.before, p.after,
        p.version_after, p.proof_id
      from judged j left join proven p on p.queue_id = j.id)
  select
      array(select distinct p.sale_id from proven p join public.sales s on s.id = p.sale_id
        where p.from_status = 'PROCESSING'
          and (s.status <> 'CONFIRMED' or s.delivery_block is not null)),
      jsonb_build_object(
        'affected', (select count(*) from changed),
        'skipped', coalesce(jsonb_agg(jsonb_build_object(
            'id', j.id,
            'reason', j.skipped,
            'status', j.from_status)
          order by j.place) filter (where j.skipped is not null), '[]'))
    into v_changed, v_answer from judged j;
  foreach v_sale_id in array v_changed loop
    perform private.follow_ledger(v_sale_id);   -- given up in flight: it may have arrived
  end loop;
  return v_answer;
end
$$;

-- advance_queue_action: the next batch of an action, and how far it is.
create function private.advance_queue_action(
  p_action_id uuid, p_ids uuid[], p_versions bigint[], p_request_hash text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_action public.queue_actions;
  v_answer jsonb := '{"affected": 0, "skipped": []}';
begin
  select a.* into v_action from public.queue_actions a where a.id = p_action_id;
  if cardinality(p_ids) > 0 then
    v_answer := private.change_queue_rows(v_action, p_ids, p_versions, p_request_hash);
    update public.queue_actions a
      set done = a.done + cardinality(p_ids),
          affected = a.affected + (v_answer ->> 'affected')::int,
          updated_at = private.current_moment()
      where a.id = p_action_id returning * into v_action;
  end if;
  return jsonb_build_object(
    'ok', true,
    'actionId', v_action.id,
    'affected', v_action.affected,
    'skipped', v_answer -> 'skipped',
    'skippedCount', v_action.done - v_action.affected,
    'done', v_action.done,
    'total', v_action.total,
    'cursor', case when v_action.done < v_action.total and v_action.undone_by is null
      then v_action.id || ':' || v_action.done end,
    'undoUntil', private.undo_until(v_action));
end
$$;
