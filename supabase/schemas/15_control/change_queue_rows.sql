-- action_batch: how many rows one call changes. A thousand take less than a second, proofs included: well within every timeout on the way.
create function private.action_batch() returns int
language sql stable set search_path = ''
as $$ select least(coalesce(nullif(current_setting('opsmantik.action_batch', true), '')::int, 1000), 1000) $$;

-- is_followed: whether another sale of the same lead lives. The retraction of the first one cannot then be given up:
-- both would count at Google.
create function private.is_followed(p_sale_id uuid) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (
    select from public.sales s join public.sales o
      on o.status = 'CONFIRMED' and o.id <> s.id and (o.call_id = s.call_id or o.sibling_call_id = s.call_id)
    where s.id = p_sale_id)
$$;

-- judge_queue_rows: for each row of an action where it would go, or why it stays. Preview and commit judge by the same rules.
--   Takes    p_action; p_undoes for UNDO: rows then go back to what they were before that action. p_versions: null when any version will do.
--            p_over_api: a person's work is sent all the same, where an API can make it (BY_HAND).
create function private.judge_queue_rows(
  p_site_id uuid, p_action text, p_undoes uuid, p_ids uuid[], p_versions bigint[],
  p_over_api boolean default false
)
returns table (id uuid, place int, from_status text, to_status text, skipped text)
language sql stable security definer set search_path = ''
as $$
  with given as (
    select g.id, min(g.place)::int as place, min(g.version) as version
    from rows from (unnest(p_ids), unnest(p_versions)) with ordinality g (id, version, place) group by 1),
  moves as (
    select m.from_state, m.to_state from public.contract_moves m join public.contracts c on c.contract = m.contract and c.contract_version = m.contract_version
    where m.contract = 'conversion' and (p_action = 'UNDO' or not m.undo_only)),
  aimed as (
    select g.id, g.place, g.version, q.status, q.sale_id, q.provider_key, q.kind, q.created_at,
      coalesce(q.provider_error_code in ('SUPERSEDED', 'NO_CONSENT', 'NEVER_ARRIVED'), false)
        or (q.kind <> 'CONVERSION' and q.click_expires_at <= private.current_moment()) as is_over,
      -- As waits_for_person says; a function call per row is too slow here.
      q.kind <> 'CONVERSION' and q.status in ('QUEUED', 'RETRY')
        and (t.oci_sync_method = 'script' or q.by_hand_reason is not null)
        and not (p_over_api and t.oci_sync_method = 'api'
          and q.by_hand_reason not in ('WBRAID_ONLY', 'OTHER_ACCOUNT')) as is_by_hand,
      s.status as sale_status, not private.may_tell(s, q.kind) as is_blocked, q.version as version_now,
      case p_action when 'UNDO' then u.before ->> 'status'
        when 'MARK_FAILED' then 'FAILED' else 'QUEUED' end as to_status
    from given g left join private.versioned_queue q on q.id = g.id and q.site_id = p_site_id left join public.sales s on s.id = q.sale_id
      left join public.sites t on t.id = q.site_id
      left join private.queue_action_rows u on u.action_id = p_undoes and u.queue_id = g.id),
  judged as materialized (   -- its verdict is looked at three times
    select a.*, case
      when a.status is null then 'NOT_FOUND'
      when a.version <> a.version_now then 'CHANGED_SINCE'
      when p_action <> 'UNDO' and a.status <> all ((select private.action_statuses(p_action))::text[]) then 'ILLEGAL_MOVE'
      when (a.status, a.to_status) not in (select m.from_state, m.to_state from moves m) then 'ILLEGAL_MOVE'
      when a.to_status <> 'FAILED' and a.kind <> 'RETRACT' and a.sale_status = 'CANCELED' then 'SALE_CANCELLED'
      -- A retraction of a sale that lives, and an adjustment that a later one replaced: sending them would undo what Google was told since.
      -- Of a sale that Google may not be told of, none; nor an adjustment that it takes no more.
      when a.to_status <> 'FAILED' and ((a.kind = 'RETRACT' and a.sale_status <> 'CANCELED')
        or a.is_over or a.is_blocked) then 'ILLEGAL_MOVE'
      -- Another row of the sale brought it to Google, perhaps to another conversion action.
      when a.to_status <> 'FAILED' and a.status = 'FAILED' and a.kind = 'CONVERSION'
        and exists (select from private.delivered_sales d
          where d.sale_id = a.sale_id and d.provider_key = a.provider_key) then 'ILLEGAL_MOVE'
      when a.to_status <> 'FAILED' and p_action <> 'UNDO' and a.is_by_hand then 'BY_HAND'
      when p_action = 'MARK_FAILED' and a.kind = 'RETRACT' and (select private.is_followed(a.sale_id)) then 'ILLEGAL_MOVE'
      when a.to_status <> 'FAILED' and a.status = 'FAILED' and exists (select from public.offline_conversion_queue o
        where o.sale_id = a.sale_id and o.provider_key = a.provider_key and o.kind = a.kind and o.status in ('QUEUED', 'RETRY', 'PROCESSING')) then 'ALREADY_QUEUED' end as why
    from aimed a)
  -- Two closed rows of one sale can not both be opened: the newest is.
  select j.id, j.place, j.status, j.to_status, coalesce(j.why, case when j.status = 'FAILED' and j.to_status <> 'FAILED' and row_number() over (
      partition by j.sale_id, j.provider_key, j.kind, j.why is null and j.status = 'FAILED' order by j.created_at desc, j.id desc) > 1 then 'ALREADY_QUEUED' end)
  from judged j
$$;

-- change_queue_rows: one batch of an action.
--   Moves    as the action says, or back for UNDO. QUEUED clears claim and next_retry_at and gives a fresh budget; errors stay unless clearErrors.
--            An adjustment that the API refused goes to it once more with overApi, which an operator
--            says of rows by name; else it stays a person's work. No API ever adjusts what was
--            found by a wbraid, or what another account has.
--   Safe     against claims, answers and the ledger at the same time: sales are locked before rows, both in order of id.
--   Returns  {affected, skipped}.
create function private.change_queue_rows(p_action public.queue_actions, p_ids uuid[], p_versions bigint[], p_request_hash text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_actor private.actor := (p_action.actor_kind, p_action.actor_id)::private.actor;
  v_contract text := (select c.contract_version from public.contracts c where c.contract = 'conversion');
  v_is_undo boolean := p_action.action = 'UNDO';
  v_over_api boolean := coalesce((p_action.options ->> 'overApi')::boolean, false);
  v_clear boolean := p_action.action = 'RESET_TO_QUEUED' and coalesce((p_action.options ->> 'clearErrors')::boolean, false);
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
    left join public.offline_conversion_queue q on q.id = j.id and q.site_id = p_action.site_id
    left join private.queue_action_rows u on u.action_id = p_action.undoes and u.queue_id = j.id),
  changed as (
    update public.offline_conversion_queue q
      set status = j.to_status, updated_at = v_now,
          claimed_at = case when v_is_undo then (j.back ->> 'claimedAt')::timestamptz end,
          claim_token = case when v_is_undo then (j.back ->> 'claimToken')::uuid end,
          next_retry_at = case when v_is_undo then (j.back ->> 'nextRetryAt')::timestamptz end,
          attempt_base = case when v_is_undo then (j.back ->> 'attemptBase')::int when j.to_status = 'QUEUED' then q.attempt_count else q.attempt_base end,
          provider_error_code = case when v_is_undo then j.back ->> 'errorCode' when p_action.action = 'MARK_FAILED' then coalesce(p_action.options ->> 'errorCode', 'MANUAL_FAIL')
                                     when not v_clear then q.provider_error_code end,
          provider_error_category = case when v_is_undo then j.back ->> 'errorCategory' when p_action.action = 'MARK_FAILED' then coalesce(p_action.options ->> 'errorCategory', 'PERMANENT')
                                         when not v_clear then q.provider_error_category end,
          last_error = case when v_is_undo then j.back ->> 'lastError' when p_action.action = 'MARK_FAILED' then coalesce(p_action.reason, 'MANUALLY_MARKED_FAILED')
                            when not v_clear then q.last_error end,
          attempt_error = case when v_is_undo then j.back ->> 'attemptError'
            when not v_clear then q.attempt_error end,
          attempt_error_code = case when v_is_undo then j.back ->> 'attemptErrorCode'
            when not v_clear then q.attempt_error_code end,
          attempt_error_category = case when v_is_undo then j.back ->> 'attemptErrorCategory'
            when not v_clear then q.attempt_error_category end,
          may_have_arrived = case when v_is_undo then j.back ? 'mayHaveArrived'
            else q.may_have_arrived or q.status = 'PROCESSING' end,
          by_hand_reason = case when v_is_undo then j.back ->> 'byHandReason'
            when not v_over_api or q.by_hand_reason in ('WBRAID_ONLY', 'OTHER_ACCOUNT')
              then q.by_hand_reason end
      from judged j where q.id = j.id and j.skipped is null
      returning q.*),
  proven as materialized (
    select private.uuid_v7() as proof_id, c.id as queue_id, j.place, j.from_status, c.status as to_status, j.before, private.queue_row_state(c) as after,
      private.queue_row_version(c) as version_after, jsonb_strip_nulls(jsonb_build_object('saleId', c.sale_id, 'attemptCount', c.attempt_count, 'actionId', p_action.id,
        'undo', case when v_is_undo then true end)) as facts
    from changed c join judged j on j.id = c.id),
  proofs as (
    insert into public.transition_proofs
      select p.proof_id, p_action.site_id, 'conversion', v_contract, p.queue_id, p.from_status, p.to_status, p_action.actor_kind, p_action.actor_id, p.facts, p_request_hash, v_now,
        private.proof_hash(row(p.proof_id, p_action.site_id, 'conversion', v_contract, p.queue_id, p.from_status, p.to_status, p_action.actor_kind, p_action.actor_id, p.facts,
          p_request_hash, v_now, '')::public.transition_proofs)
      from proven p),
  unsealed as (insert into private.unsealed_proofs (proof_id, site_id) select p.proof_id, p_action.site_id from proven p),
  notes as (insert into private.proof_notes (proof_id, note) select p.proof_id, p_action.reason from proven p where p_action.reason is not null),
  recorded as (
    insert into private.queue_action_rows (action_id, place, queue_id, skipped, before, after, version_after, proof_id)
      select p_action.id, p_action.done + j.place, j.id, j.skipped, j.before, p.after, p.version_after, p.proof_id
      from judged j left join proven p on p.queue_id = j.id)
  select array(select distinct p.facts ->> 'saleId' from proven p join judged b on b.id = p.queue_id
        join public.sales s on s.id = (p.facts ->> 'saleId')::uuid
        where b.from_status = 'PROCESSING'
          and (s.status <> 'CONFIRMED' or s.delivery_block is not null)),
      jsonb_build_object('affected', (select count(*) from changed),
      'skipped', coalesce(jsonb_agg(jsonb_build_object('id', j.id, 'reason', j.skipped, 'status', j.from_status) order by j.place) filter (where j.skipped is not null), '[]'))
    into v_changed, v_answer from judged j;
  foreach v_sale_id in array v_changed loop
    perform private.follow_ledger(v_sale_id);   -- given up in flight: it may have arrived
  end loop;
  return v_answer;
end
$$;

-- advance_queue_action: the next batch of an action, and how far it is.
create function private.advance_queue_action(p_action_id uuid, p_ids uuid[], p_versions bigint[], p_request_hash text) returns jsonb
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
      set done = a.done + cardinality(p_ids), affected = a.affected + (v_answer ->> 'affected')::int, updated_at = private.current_moment()
      where a.id = p_action_id returning * into v_action;
  end if;
  return jsonb_build_object('ok', true, 'actionId', v_action.id, 'affected', v_action.affected, 'skipped', v_answer -> 'skipped',
    'skippedCount', v_action.done - v_action.affected, 'done', v_action.done, 'total', v_action.total,
    'cursor', case when v_action.done < v_action.total and v_action.undone_by is null then v_action.id || ':' || v_action.done end,
    'undoUntil', case when v_action.action <> 'UNDO' and v_action.affected > 0 and v_action.undone_by is null then v_action.updated_at + interval '10 minutes' end);
end
$$;
