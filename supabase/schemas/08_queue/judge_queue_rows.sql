-- May this row move? There is one judge. Operators' actions, their preview and undo, send_again,
-- the contract endpoint, the drawer and a new connection all ask judge_queue_rows.

-- operator_actions: what operators do with rows, as the screen lists it.
create function private.operator_actions() returns text[]
language sql immutable set search_path = ''
as $$ select '{RETRY_SELECTED,RESET_TO_QUEUED,MARK_FAILED}'::text[] $$;

-- action_statuses: from which states an operator's action takes a row; null for an unknown action.
create function private.action_statuses(p_action text) returns text[]
language sql immutable set search_path = ''
as $$
  select case p_action
    when 'RETRY_SELECTED' then '{FAILED,RETRY}'::text[]
    when 'RESET_TO_QUEUED' then '{QUEUED,RETRY,PROCESSING,FAILED}'
    when 'MARK_FAILED' then private.open_states() end
$$;

-- waits_for_person: an adjustment that neither the site's script nor an API makes. Somebody
-- may already have made it in Google Ads, so it is not sent unless an operator says so.
-- This one and the next have no search_path of their own, so that the planner inlines them: queries
-- call them for many rows.
create function private.waits_for_person(
  p_kind text, p_status text, p_by_hand_reason text, p_sync_method text
) returns boolean
language sql immutable
as $$
  select p_kind <> 'CONVERSION' and p_status = any (private.waiting_states())
    and (p_sync_method = 'script' or p_by_hand_reason is not null)
$$;

-- api_never_adjusts: reasons that another try of the API cannot change.
create function private.api_never_adjusts(p_by_hand_reason text) returns boolean
language sql immutable
as $$ select coalesce(p_by_hand_reason in ('WBRAID_ONLY', 'OTHER_ACCOUNT'), false) $$;

-- is_followed: whether the same lead has another confirmed sale. Then the retraction of the first
-- one cannot be given up: both would count at Google.
create function private.is_followed(p_sale_id uuid) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (
    select from public.sales s
      join public.sales o on o.status = 'CONFIRMED' and o.id <> s.id
        and (o.call_id = s.call_id or o.sibling_call_id = s.call_id)
    where s.id = p_sale_id)
$$;

-- judge_queue_rows: for each row of an action its next state, or why it stays.
--   Takes    p_action: an operator's action, UNDO, or SEND_AGAIN, which queues another row.
--            p_undoes, for UNDO: rows go back to what they were before that action.
--            p_versions: null for any version.
--            p_over_api: also sends what waits for a person, if an API can make it.
--            p_alone: each row is judged as if it were the only one.
--   Returns  skipped, null when the row may move. The reasons: NOT_FOUND (also another site's row),
--            CHANGED_SINCE (another version), ILLEGAL_MOVE, SALE_CANCELLED, BY_HAND (it waits for a
--            person), ALREADY_QUEUED (another row of the sale does the same).
--   Safe     for a hundred thousand rows: no function is called for each of them. One plan is kept:
--            planning took longer than judging a row (2 ms).
create function private.judge_queue_rows(
  p_site_id uuid, p_action text, p_undoes uuid, p_ids uuid[], p_versions bigint[],
  p_over_api boolean default false, p_alone boolean default false
)
returns table (id uuid, place int, from_status text, to_status text, skipped text)
language plpgsql stable security definer set search_path = ''
  set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return query with given as (
    select g.id, min(g.place)::int as place, min(g.version) as version
    from rows from (unnest(p_ids), unnest(p_versions)) with ordinality g (id, version, place)
    group by 1),
  moves as (
    select m.from_state, m.to_state
    from public.contract_moves m
      join public.contracts c
        on c.contract = m.contract and c.contract_version = m.contract_version
    where m.contract = 'conversion' and (p_action = 'UNDO' or not m.undo_only)),
  aimed as (
    select g.id, g.place, g.version, q.version as version_now, q.status, q.kind, q.sale_id,
      q.provider_key, q.created_at, s.status as sale_status,
      -- An adjustment that a later one replaced would undo what Google was sent since.
      coalesce(q.provider_error_code in ('SUPERSEDED', 'NO_CONSENT', 'NEVER_ARRIVED'), false)
        -- Google no longer takes it.
        or q.kind <> 'CONVERSION' and q.click_expires_at <= private.current_moment()
        -- Nothing may be sent of a sale whose visitor withdrew consent.
        or not private.may_send(s, q.kind)
        -- A retraction of a confirmed sale.
        or q.kind = 'RETRACT' and s.status <> 'CANCELED' as is_over,
      private.waits_for_person(q.kind, q.status, q.by_hand_reason, t.oci_sync_method)
        and not (p_over_api and t.oci_sync_method = 'api'
          and not private.api_never_adjusts(q.by_hand_reason)) as is_by_hand,
      case p_action
        when 'UNDO' then u.before ->> 'status'
        when 'MARK_FAILED' then 'FAILED'
        else 'QUEUED' end as to_status
    from given g
      left join private.versioned_queue q on q.id = g.id and q.site_id = p_site_id
      left join public.sales s on s.id = q.sale_id
      left join public.sites t on t.id = q.site_id
      left join private.queue_action_rows u on u.action_id = p_undoes and u.queue_id = g.id),
  judged as materialized (   -- it is read three times
    select a.*, case
      when a.status is null then 'NOT_FOUND'
      when a.version <> a.version_now then 'CHANGED_SINCE'
      when p_action = 'SEND_AGAIN' then (
        select private.why_not_again(q) from public.offline_conversion_queue q where q.id = a.id)
      when p_action <> 'UNDO'
        and a.status <> all ((select private.action_statuses(p_action))::text[])
        then 'ILLEGAL_MOVE'
      when (a.status, a.to_status) not in (select m.from_state, m.to_state from moves m)
        then 'ILLEGAL_MOVE'
      when a.to_status = 'FAILED' then case
        when a.kind = 'RETRACT' and (select private.is_followed(a.sale_id))
        then 'ILLEGAL_MOVE' end
      when a.kind <> 'RETRACT' and a.sale_status = 'CANCELED' then 'SALE_CANCELLED'
      when a.is_over then 'ILLEGAL_MOVE'
      -- Another row of the sale brought it to Google, perhaps to another conversion action.
      when a.status = 'FAILED' and a.kind = 'CONVERSION'
        and exists (select from private.delivered_sales d
          where d.sale_id = a.sale_id and d.provider_key = a.provider_key offset 0)
        then 'ILLEGAL_MOVE'
      when p_action <> 'UNDO' and a.is_by_hand then 'BY_HAND'
      when a.status = 'FAILED'
        and exists (select from public.offline_conversion_queue o
          where o.sale_id = a.sale_id and o.provider_key = a.provider_key and o.kind = a.kind
            and o.state = any (private.waiting_states()) offset 0)
        then 'ALREADY_QUEUED' end as why
    from aimed a)
  -- Two closed rows of one sale cannot both be opened: the newest is.
  select j.id, j.place, j.status, j.to_status, coalesce(j.why, case
      when not p_alone and j.status = 'FAILED' and j.to_status <> 'FAILED' and row_number() over (
          partition by j.sale_id, j.provider_key, j.kind, j.why is null and j.status = 'FAILED'
          order by j.created_at desc, j.id desc) > 1
        then 'ALREADY_QUEUED' end)
  from judged j;
end
$$;

-- allowed_actions: what an operator may do with each of these rows now.
create function private.allowed_actions(p_site_id uuid, p_ids uuid[])
returns table (id uuid, actions jsonb)
language sql stable security definer set search_path = ''
as $$
  select j.id, jsonb_agg(a.action order by a.place)
  from unnest(private.operator_actions()) with ordinality a (action, place)
    cross join lateral private.judge_queue_rows(
      p_site_id, a.action, null, p_ids, null, p_alone => true) j
  where j.skipped is null
  group by 1
$$;
