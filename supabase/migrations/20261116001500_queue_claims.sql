-- Claims: how a row of the queue is handed to whoever sends it. A claim spends one attempt, takes the newest value of the sale, and
-- gives its caller exactly the rows it claimed. Claims and answers are plpgsql with generic plans throughout: a function in SQL is planned
-- anew at each call, and planning took longer than changing fifty rows.

-- hand_out: claim rows that the caller has locked.
--   Takes    p_name: what the site calls a sale in Google Ads now. A row that has a name keeps it.
--   Moves    QUEUED/RETRY -> PROCESSING.
--   Writes   what is handed out: name, snapshot and value on the row, ids in dispatch_identifiers.
--   Returns  the rows as they must be sent, in the order given. A row whose sale came to nothing meanwhile is left out.
create function private.hand_out(
  p_ids uuid[], p_sale_ids uuid[], p_token uuid, p_name text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_rows jsonb;
begin
  with claimed as (
    update public.offline_conversion_queue q
      set status = 'PROCESSING', claimed_at = v_now, claim_token = p_token, attempt_count = q.attempt_count + 1, next_retry_at = null, updated_at = v_now,
          snapshot_id = r.id, value_cents = r.amount_cents, handed_snapshot_id = r.id, handed_value_cents = r.amount_cents,
          handed_values_differ = q.handed_values_differ
            or coalesce(q.handed_value_cents <> r.amount_cents, false),
          conversion_name = coalesce(q.conversion_name, p_name),
          claims = (p_token || q.claims)[1:50],
          identifiers_hash = encode(sha256(convert_to(jsonb_build_array(
            i.salt, s.gclid, s.wbraid, s.gbraid, s.customer_hash)::text, 'UTF8')), 'hex')
      -- Each row has its own salt: one for the batch would stay with the rows that are kept.
      from (select u.*, gen_random_uuid() as salt
            from unnest(p_ids, p_sale_ids) with ordinality u (id, sale_id, position)) i
        join public.sales s on s.id = i.sale_id
        cross join lateral (select x.id, x.amount_cents from public.revenue_snapshots x where x.sale_id = s.id order by x.sequence desc limit 1) r
        left join public.calls c on c.id = s.call_id
        left join lateral (
          select x.chosen_at, 'marketing' = any (x.scopes) as is_given from public.consent_choices x
          where x.site_id = c.site_id and x.visitor_id = c.visitor_id
          order by x.chosen_at desc, x.id desc limit 1) choice on true
      where q.id = i.id and s.delivery_block is null
        -- What the visitor said since; what Google has may still be corrected.
        and (q.kind <> 'CONVERSION'
          or coalesce(choice.is_given or choice.chosen_at <= s.occurred_at, true))
        and (s.status = 'CONFIRMED') = (q.kind <> 'RETRACT') and (r.amount_cents > 0) = (q.kind <> 'RETRACT')
      returning i.position, i.salt, q.id, q.site_id, q.kind, q.order_id, q.conversion_name,
        q.value_cents, q.currency, q.conversion_time, q.attempt_count, q.sale_id,
        s.gclid, s.wbraid, s.gbraid, s.clicked_at, s.customer_hash),
  identified as (
    insert into public.dispatch_identifiers as d
        (queue_id, site_id, gclid, wbraid, gbraid, customer_hash, salt, handed_at)
      select c.id, c.site_id, c.gclid, c.wbraid, c.gbraid, c.customer_hash, c.salt, v_now
      from claimed c
      on conflict (queue_id) do update
        set gclid = excluded.gclid, wbraid = excluded.wbraid, gbraid = excluded.gbraid,
            customer_hash = excluded.customer_hash, salt = excluded.salt,
            handed_at = excluded.handed_at)
  select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'saleId', c.sale_id, 'kind', c.kind,
    'orderId', c.order_id, 'conversionName', c.conversion_name, 'valueCents', c.value_cents,
    'currency', c.currency, 'conversionTime', c.conversion_time, 'attemptCount', c.attempt_count, 'gclid', c.gclid, 'wbraid', c.wbraid, 'gbraid', c.gbraid,
    'clickedAt', c.clicked_at, 'customerHash', c.customer_hash) order by c.position), '[]')
  into v_rows from claimed c;
  return v_rows;
end
$$;

-- claim_offline_conversion_rows_for_script_export: hand conversions to a site's Google Ads Script.
--   Moves    QUEUED/RETRY -> PROCESSING, of the given rows those that are this site's, due and have attempts left. Conversions only:
--            a script cannot correct what Google already has.
--   Safe     from two scripts at once: skip locked gives each row to one of them.
--   Returns  {token, rows}: exactly the rows that were claimed.
--   Refuses  400 WRONG_SYNC_METHOD on a site that sends by API; 400 over 1,000 ids.
--   Callers  service role only.
create function public.claim_offline_conversion_rows_for_script_export(p_ids uuid[], p_site_id uuid, p_max_attempts int default 5, p_key_id uuid default null) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_token uuid := gen_random_uuid();
  v_name text;
  v_ids uuid[];
  v_sale_ids uuid[];
begin
  select private.conversion_name(s, 'seal') into v_name from public.sites s
    where s.id = p_site_id and s.oci_sync_method = 'script';
  if v_name is null then
    perform private.fail(400, 'WRONG_SYNC_METHOD');
  end if;
  if cardinality(p_ids) > 1000 then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "ids"}');
  end if;
  select array_agg(t.id), array_agg(t.sale_id) into v_ids, v_sale_ids from (
    select q.id, q.sale_id from public.offline_conversion_queue q
    where q.id = any (p_ids) and q.site_id = p_site_id and q.status in ('QUEUED', 'RETRY') and q.kind = 'CONVERSION'
      and q.not_before <= v_now and (q.next_retry_at is null or q.next_retry_at <= v_now) and q.click_expires_at > v_now
      and q.attempt_count - q.attempt_base < p_max_attempts
    order by q.next_retry_at nulls first, q.created_at, q.id
    for update skip locked) t;
  perform private.act(('api_key', p_key_id)::private.actor, 'SCRIPT_EXPORT');
  return jsonb_build_object('token', v_token,
    'rows', private.hand_out(v_ids, v_sale_ids, v_token, v_name));
end
$$;

-- may_be_adjusted: whether Google already knows a sale well enough to take a correction of it. Data Manager takes one for a
-- conversion that it has confirmed; what went another way can be corrected at once.
create function private.may_be_adjusted(p_sale_id uuid) returns boolean
language sql stable security definer set search_path = ''
as $$
  select not exists (select from public.provider_dispatches d where d.sale_id = p_sale_id and d.transport = 'data_manager' and d.verdict is null)
$$;

-- lock_due: lock up to p_limit rows of one (site, provider) that could be sent now, and give them with their sales.
--   Reads    them off idx_offline_conversion_queue_eligible_scan in order: first the never deferred, then the due. Two scans, because
--            one with "is null or <= now" would walk every row that waits for later.
--   Safe     from many workers at once: skip locked gives each row to one of them.
create function private.lock_due(
  p_site_id uuid, p_provider_key text, p_limit int, p_max_attempts int, out row_ids uuid[], out sale_ids uuid[]
)
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  with fresh as materialized (
    select q.id, q.sale_id from public.offline_conversion_queue q
    where q.site_id = p_site_id and q.provider_key = p_provider_key and q.status in ('QUEUED', 'RETRY') and q.next_retry_at is null
      and q.not_before <= v_now and q.attempt_count - q.attempt_base < p_max_attempts
      and q.click_expires_at > v_now
      and (q.kind = 'CONVERSION' or private.may_be_adjusted(q.sale_id))
      and exists (select from public.sales s where s.id = q.sale_id and s.delivery_block is null and (s.status = 'CANCELED') = (q.kind = 'RETRACT'))
    order by q.next_retry_at nulls first, q.created_at, q.id limit p_limit
    for update skip locked),
  due as materialized (
    select q.id, q.sale_id from public.offline_conversion_queue q
    where q.site_id = p_site_id and q.provider_key = p_provider_key and q.status in ('QUEUED', 'RETRY') and q.next_retry_at <= v_now
      and q.not_before <= v_now and q.attempt_count - q.attempt_base < p_max_attempts
      and q.click_expires_at > v_now
      and (q.kind = 'CONVERSION' or private.may_be_adjusted(q.sale_id))
      and exists (select from public.sales s where s.id = q.sale_id and s.delivery_block is null and (s.status = 'CANCELED') = (q.kind = 'RETRACT'))
    order by q.next_retry_at nulls first, q.created_at, q.id limit p_limit - (select count(*) from fresh)
    for update skip locked)
  select array_agg(t.id), array_agg(t.sale_id) into row_ids, sale_ids from (select * from fresh union all select * from due) t;
end
$$;

-- claim_offline_conversion_jobs_v2: lease up to p_limit due rows of one (site, provider) to a worker.
--   Moves    QUEUED/RETRY -> PROCESSING. A correction of what went over Data Manager waits until Google has said what it thinks of it.
--   Safe     from many workers at once.
--   Returns  {token, rows}; no rows on a site whose script sends.
--   Callers  service role only.
create function public.claim_offline_conversion_jobs_v2(p_site_id uuid, p_provider_key text, p_limit int, p_max_attempts int default 5) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_token uuid := gen_random_uuid();
  v_name text;
  v_due record;
begin
  select private.conversion_name(s, 'seal') into v_name from public.sites s
    where s.id = p_site_id and s.oci_sync_method = 'api' and s.archived_at is null;
  if v_name is null then
    return jsonb_build_object('token', v_token, 'rows', '[]'::jsonb);
  end if;
  v_due := private.lock_due(p_site_id, p_provider_key, least(greatest(p_limit, 0), 1000), p_max_attempts);
  perform private.act(('system', null)::private.actor, 'WORKER_CLAIM');
  return jsonb_build_object('token', v_token,
    'rows', private.hand_out(v_due.row_ids, v_due.sale_ids, v_token, v_name));
end
$$;

-- defer_offline_conversion_jobs: let due rows wait, because nothing may be sent now (circuit, semaphore). No attempt is spent.
--   Moves    QUEUED/RETRY -> RETRY, at most p_limit rows; each waits up to p_jitter_seconds longer, so that they do not come back as one.
--   Returns  {deferred}.
--   Callers  service role only.
create function public.defer_offline_conversion_jobs(
  p_site_id uuid, p_provider_key text, p_limit int, p_until timestamptz, p_code text, p_words text, p_jitter_seconds int default 0, p_max_attempts int default 5
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_due record;
  v_deferred int;
begin
  if not exists (select from public.sites s where s.id = p_site_id and s.oci_sync_method = 'api') then
    return '{"deferred": 0}';
  end if;
  v_due := private.lock_due(p_site_id, p_provider_key, least(greatest(p_limit, 0), 5000), p_max_attempts);
  perform private.act(('system', null)::private.actor, 'DEFERRED');
  update public.offline_conversion_queue q
    set status = 'RETRY', next_retry_at = p_until + random() * make_interval(secs => p_jitter_seconds), provider_error_code = left(p_code, 64),
        provider_error_category = 'TRANSIENT', last_error = left(p_words, 1024), updated_at = private.current_moment()
    where q.id = any (v_due.row_ids);
  get diagnostics v_deferred = row_count;
  return jsonb_build_object('deferred', v_deferred);
end
$$;

-- list_offline_conversion_groups: which (site, provider) have something due for a worker.
--   Reads    one index entry per group and at most 1,000 due rows of each: a group of a million costs the same as one of a thousand.
--   Returns  [{site_id, provider_key, queued_count (counted up to 1,000), min_next_retry_at (null when a row was never deferred), min_created_at}],
--            in the order in which they should be served.
--   Callers  service role only.
create function public.list_offline_conversion_groups(p_limit_groups int default 50, p_max_attempts int default 5) returns jsonb
language sql stable security definer set search_path = ''
as $$
  with recursive groups as (
    (select q.site_id, q.provider_key from public.offline_conversion_queue q where q.status in ('QUEUED', 'RETRY')
     order by q.site_id, q.provider_key limit 1)
    union all
    select x.site_id, x.provider_key from groups g cross join lateral (
      select q.site_id, q.provider_key from public.offline_conversion_queue q
      where q.status in ('QUEUED', 'RETRY') and (q.site_id, q.provider_key) > (g.site_id, g.provider_key)
      order by q.site_id, q.provider_key limit 1) x),
  due as (
    select g.site_id, g.provider_key, d.queued_count, d.min_next_retry_at, d.min_created_at
    from groups g join public.sites s on s.id = g.site_id and s.oci_sync_method = 'api' and s.archived_at is null
    cross join (select private.current_moment() as now) n
    cross join lateral (
      select count(*) as queued_count, case when bool_or(r.next_retry_at is null) then null else min(r.next_retry_at) end as min_next_retry_at,
        min(r.created_at) as min_created_at
      from (select u.* from (
        (select q.next_retry_at, q.created_at from public.offline_conversion_queue q
         where q.site_id = g.site_id and q.provider_key = g.provider_key and q.status in ('QUEUED', 'RETRY') and q.next_retry_at is null
           and q.not_before <= n.now and q.attempt_count - q.attempt_base < p_max_attempts
         order by q.next_retry_at nulls first, q.created_at, q.id limit 1000)
        union all
        (select q.next_retry_at, q.created_at from public.offline_conversion_queue q
         where q.site_id = g.site_id and q.provider_key = g.provider_key and q.status in ('QUEUED', 'RETRY') and q.next_retry_at <= n.now
           and q.not_before <= n.now and q.attempt_count - q.attempt_base < p_max_attempts
         order by q.next_retry_at nulls first, q.created_at, q.id limit 1000)) u limit 1000) r) d
    where d.queued_count > 0
    order by d.min_next_retry_at nulls first, d.min_created_at, g.site_id limit least(greatest(p_limit_groups, 1), 1000))
  select coalesce(jsonb_agg(to_jsonb(due.*) order by due.min_next_retry_at nulls first, due.min_created_at, due.site_id), '[]') from due
$$;

grant execute on function
  public.claim_offline_conversion_rows_for_script_export(uuid[], uuid, int, uuid),
  public.claim_offline_conversion_jobs_v2(uuid, text, int, int),
  public.defer_offline_conversion_jobs(uuid, text, int, timestamptz, text, text, int, int),
  public.list_offline_conversion_groups(int, int)
to opsmantik_app, service_role;
