-- claim_offline_conversion_rows_for_script_export: hand conversions to a site's Google Ads Script.
--   Moves    QUEUED/RETRY -> PROCESSING, of the given rows those that are this site's, due, not
--            held and have attempts left. Conversions only: a script cannot correct what Google
--            has.
--   Safe     from two scripts at once: skip locked gives each row to one of them.
--   Returns  {token, rows}: exactly the rows that were claimed; none while the site is paused.
--   Refuses  400 WRONG_SYNC_METHOD on a site that sends by API; 400 over 1,000 ids.
--   Callers  service role only.
create function public.claim_offline_conversion_rows_for_script_export(
  p_ids uuid[], p_site_id uuid, p_max_attempts int default private.max_attempts(),
  p_key_id uuid default null
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_token uuid := gen_random_uuid();
  v_name text;
  v_is_paused boolean;
  v_ids uuid[];
  v_sale_ids uuid[];
begin
  select private.conversion_name(s, 'seal'), private.is_paused(s) into v_name, v_is_paused
    from public.sites s where s.id = p_site_id and s.oci_sync_method = 'script' for share;
  if v_name is null then
    perform private.fail(400, 'WRONG_SYNC_METHOD');
  end if;
  if cardinality(p_ids) > 1000 then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "ids"}');
  end if;
  select array_agg(t.id), array_agg(t.sale_id) into v_ids, v_sale_ids from (
    select q.id, q.sale_id from private.queue_open q
    where q.id = any (p_ids) and q.site_id = p_site_id and not v_is_paused
      and q.state = any (private.waiting_states()) and q.claim_token is null
      and q.kind = 'CONVERSION' and q.not_before <= v_now
      and coalesce(q.next_retry_at, '-infinity') <= v_now
      and q.click_expires_at > v_now
      and q.attempt_count - q.attempt_base < p_max_attempts
      and not exists (select from private.held_sales h
        where h.sale_id = q.sale_id and h.provider_key = q.provider_key)
    order by coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id
    for update skip locked) t;
  perform private.act(('api_key', p_key_id)::private.actor, 'SCRIPT_EXPORT');
  return jsonb_build_object('token', v_token,
    'rows', private.hand_out(v_ids, v_sale_ids, null, v_token, v_name));
end
$$;
grant execute on function public.claim_offline_conversion_rows_for_script_export(
    uuid[], uuid, int, uuid)
  to opsmantik_app, service_role;

-- lock_due: lock up to p_limit rows of one (site, provider) that could be sent now, and give them
-- with their sales.
--   Takes    p_transport: the API that the site sends by; vias says which one takes each row.
--            p_plain_too: also those that claim_plain takes.
--   Reads    them in the order of the queue, from idx_offline_conversion_queue_eligible_scan or
--            from waiting_rows_that_are_not_plain. Hashed or sorted, a claim of fifty would read
--            every sale there is.
--   Safe     from many workers at once: skip locked gives each row to one of them.
create function private.lock_due(
  p_site_id uuid, p_provider_key text, p_limit int, p_max_attempts int, p_transport text,
  p_plain_too boolean, out row_ids uuid[], out sale_ids uuid[], out vias text[]
)
language plpgsql security definer set search_path = ''
  set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
as $$
begin
  if p_plain_too then
    select array_agg(t.id), array_agg(t.sale_id), array_agg(t.via)
      into row_ids, sale_ids, vias from (
        select q.id, q.sale_id,
          case when q.adjusts_via = 'ads_api' then 'ads_api' else p_transport end as via
        from private.sendable_queue q
        where q.site_id = p_site_id and q.provider_key = p_provider_key
          and q.attempt_count - q.attempt_base < p_max_attempts
        order by q.eligible_at, q.created_at, q.id limit p_limit for update skip locked) t;
  else
    select array_agg(t.id), array_agg(t.sale_id), array_agg(t.via)
      into row_ids, sale_ids, vias from (
        select q.id, q.sale_id,
          case when q.adjusts_via = 'ads_api' then 'ads_api' else p_transport end as via
        from private.sendable_queue q
        where q.site_id = p_site_id and q.provider_key = p_provider_key
          and q.attempt_count - q.attempt_base < p_max_attempts
          and not q.is_plain
        order by q.eligible_at, q.created_at, q.id limit p_limit for update skip locked) t;
  end if;
end
$$;

-- their_turn: how many of these rows are among the first p_limit, beside the due plain rows. The
-- rows are locked and in the order of the queue.
create function private.their_turn(
  p_site_id uuid, p_provider_key text, p_row_ids uuid[], p_limit int
) returns int
language sql stable security definer set search_path = ''
as $$
  select count(*) from (
    select t.is_plain from (
      (select true as is_plain, coalesce(q.next_retry_at, '-infinity') as eligible_at,
         q.created_at, q.id
       from private.queue_open q
       where q.site_id = p_site_id and q.provider_key = p_provider_key
         and q.state in ('QUEUED', 'RETRY') and q.claim_token is null
         and q.is_plain
         and coalesce(q.next_retry_at, '-infinity') <= private.current_moment()
         and q.not_before <= private.current_moment()
         and q.click_expires_at > private.current_moment()
       order by coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id limit p_limit)
      union all
      select false, coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id
      from private.queue_open q
      where q.id = any (p_row_ids)) t
    order by t.eligible_at, t.created_at, t.id limit p_limit) first
  where not first.is_plain
$$;

-- claim_due: claim up to p_limit rows of one (site, provider) that a worker may send now, in the
-- order of the queue: plain rows by claim_plain, the others by hand_out. Starts their batch.
--   Takes    p_after: see claim_plain.
--   Returns  {claimed, rows, plain, last}: rows as hand_out gives them, plain as claim_plain does.
create function private.claim_due(
  p_site_id uuid, p_provider_key text, p_limit int, p_max_attempts int, p_by private.handing,
  p_after jsonb, out claimed int, out rows jsonb, out plain json, out last json
)
language plpgsql security definer set search_path = ''
as $$
declare
  v_due record;
  v_turn int;
  v_plain record;
begin
  claimed := 0;
  rows := '[]';
  -- The first in the order of the index: nothing tells the planner how many of them are due.
  if (select coalesce(q.next_retry_at, '-infinity') from private.queue_open q
      where q.site_id = p_site_id and q.provider_key = p_provider_key
        and q.state in ('QUEUED', 'RETRY') and not q.is_plain and q.claim_token is null
      order by coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id limit 1)
      <= private.current_moment() then
    v_due := private.lock_due(
      p_site_id, p_provider_key, p_limit, p_max_attempts, p_by.transport, false);
    if v_due.row_ids is not null then
      v_turn := case when p_by.action is null then cardinality(v_due.row_ids)
        else private.their_turn(p_site_id, p_provider_key, v_due.row_ids, p_limit) end;
      perform private.act(('system', null)::private.actor, 'WORKER_CLAIM');
      rows := private.hand_out(v_due.row_ids[1:v_turn], v_due.sale_ids[1:v_turn],
        v_due.vias[1:v_turn], p_by.token, p_by.name);
      claimed := jsonb_array_length(rows);
    end if;
  end if;
  if p_by.action is not null and claimed < p_limit and p_max_attempts > 0 then
    v_plain := private.claim_plain(
      p_site_id, p_provider_key, p_limit - claimed, p_by, p_after, claimed);
    claimed := claimed + v_plain.claimed;
    plain := v_plain.plain;
    last := v_plain.last;
  elsif claimed > 0 then
    perform private.start_batch(p_site_id, p_provider_key, p_by.token, 'seals', claimed);
  end if;
end
$$;

-- claim_offline_conversion_jobs_v2: lease up to p_limit due rows of one (site, provider) to a
-- worker.
--   Moves    QUEUED/RETRY -> PROCESSING, of the rows of sendable_queue.
--   Safe     from many workers at once: whether anything may be sent and who probes are decided
--            under the lock of the provider, and skip locked gives each row to one of them.
--   Writes   STARTED in the ledger of attempts, with the token as its batch. A probe that finds
--            nothing gives its lease back.
--   Returns  {token, gate, rows, plain, batch: {credentialsVersion}, last}. The gate is CLOSED or
--            HALF_OPEN (the caller probes), or why there are no rows: OPEN, BLOCKED, NOT_CONNECTED,
--            SCRIPT. The rows are those of `rows` and those of `plain`, by columns: see
--            claim_plain. A row's `via` says which API takes it. At most 1,000 rows. `last` is
--            where the claim ended, for settle_and_claim_conversion_jobs.
--   Callers  service role only.
create function public.claim_offline_conversion_jobs_v2(
  p_site_id uuid, p_provider_key text, p_limit int,
  p_max_attempts int default private.max_attempts()
) returns json
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_token uuid := gen_random_uuid();
  v_gate record;
  v_by private.handing;
  v_claimed int;
  v_rows jsonb := '[]';
  v_plain json;
  v_last json;
begin
  select * into v_gate from private.pass_gate(p_site_id, p_provider_key, v_token);
  if v_gate.gate in ('CLOSED', 'HALF_OPEN') then
    select v_token, v_gate.transport, n.name, a.action, s.timezone into v_by
      from public.sites s
        cross join lateral (select private.conversion_name(s, 'seal') as name) n
        left join public.provider_conversion_actions a
          on a.site_id = s.id and a.provider_key = p_provider_key and a.conversion_name = n.name
            and a.blocked_at is null
      where s.id = p_site_id;
    select c.* into v_claimed, v_rows, v_plain, v_last
      from private.claim_due(p_site_id, p_provider_key,
        least(greatest(p_limit, 0), 1000,
          case v_gate.gate when 'HALF_OPEN' then v_gate.probe_limit end),
        p_max_attempts, v_by, null) c;
    if v_claimed = 0 and v_gate.gate = 'HALF_OPEN' then
      perform private.return_probe(p_site_id, p_provider_key, v_token);
    end if;
  end if;
  return json_build_object(
    'token', v_token,
    'gate', v_gate.gate,
    'rows', v_rows,
    'plain', v_plain,
    'batch', json_build_object('credentialsVersion', v_gate.credentials_version),
    'last', v_last);
end
$$;
grant execute on function public.claim_offline_conversion_jobs_v2(uuid, text, int, int)
  to opsmantik_app, service_role;
