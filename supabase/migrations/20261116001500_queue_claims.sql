-- Claims: how a row of the queue is handed to whoever sends it. A claim spends one attempt, takes the newest value of the sale, and
-- gives its caller exactly the rows it claimed. Claims and answers are plpgsql with generic plans throughout: a function in SQL is planned
-- anew at each call, and planning took longer than changing fifty rows.

-- held_sales: sales of a lead whose earlier, cancelled sale still counts at Google. Sent now, both
-- would count. A sale is held from the cancellation until Google has forgotten the earlier one, and
-- while the earlier one's conversion is in flight. Without a retraction on the queue (Google takes
-- none 54 days after the conversion) nothing is held: nobody could release it.
create view private.held_sales as
  select s.id as sale_id, r.provider_key, o.id as by_sale_id, r.id as by_row_id
  from public.sales s
    join public.sales o
      on o.call_id in (s.call_id, s.sibling_call_id) and o.id <> s.id and o.status = 'CANCELED'
    join public.offline_conversion_queue r on r.sale_id = o.id
  where (r.kind = 'CONVERSION' and r.status = 'PROCESSING')
    or (r.kind = 'RETRACT' and 'RETRACT' <> (select d.kind from private.standing_dispatches d
      where d.sale_id = o.id and d.provider_key = r.provider_key));

-- adjustment_bases: what an adjustment of a sale starts from, and what it waits for.
--   waits_for  VERDICT: Data Manager has not said whether it took the conversion, and an adjustment
--              of one that it did not take is a new conversion there. DAY: a script or a person
--              sent it, nobody tells us when Google has it, and a day later it has.
--   takes_restatements  Data Manager has it for certain and corrects the value itself. It wants to
--              be told the click again, which is forgotten when consent is withdrawn; the Ads API
--              needs no more than the order id.
create view private.adjustment_bases as
  select d.sale_id, d.provider_key,
    case when d.transport = 'data_manager' and d.verdict is null then 'VERDICT'
      when d.transport in ('script', 'by_hand')
        and d.dispatched_at > private.current_moment() - interval '1 day' then 'DAY' end as waits_for,
    case when d.transport in ('script', 'by_hand')
      then d.dispatched_at + interval '1 day' end as waits_until,
    d.transport = 'data_manager' and d.verdict in ('CONFIRMED', 'DUPLICATE')
      and exists (select from public.sales s where s.id = d.sale_id
        and coalesce(s.gclid, s.wbraid, s.gbraid) is not null) as takes_restatements
  from private.standing_dispatches d;

-- standing_json: what Google has of a sale, for whoever wants to correct it or take it back.
--   isWbraidOnly, isElsewhere  a person adjusts it in Google Ads, as follow_ledger says.
create function private.standing_json(p_sale_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('kind', d.kind, 'transport', d.transport, 'valueCents', d.value_cents,
    'at', d.dispatched_at, 'verdict', d.verdict, 'isWbraidOnly', exists (
      select from public.provider_dispatches c where c.sale_id = d.sale_id
        and c.kind = 'CONVERSION' and c.click_kind = 'wbraid'
        and c.verdict is distinct from 'REJECTED'),
    'isElsewhere', private.is_elsewhere(d.site_id, d.conversion_action))
  from private.standing_dispatches d where d.sale_id = p_sale_id and d.provider_key = 'google_ads'
$$;

-- sendable_queue: the one rule of which rows a worker may be handed now. Listing, claiming and
-- deferring all read this, so whatever is counted can be claimed. How many attempts a row has is
-- the caller's setting; whether anything of the (site, provider) may be sent is open_connections.
-- Only the queue is read by name, so that "for update" locks its rows and nothing else. "Is true"
-- keeps the planner from the index by expiry, which holds every row that waits for later.
-- What a script may have uploaded counts under the action with the row's name: sent to one that
-- Google calls something else, it would count twice. What left for an action of another account
-- is nothing that the present one can be told. A row that has its action needs no line for its
-- name; an adjustment of what only a script sent takes the seal's where its name has none: over the
-- Ads API, Google refuses what it does not find.
--   adjusts_via  for an adjustment: data_manager (or what the site's transport is) or ads_api.
create view private.sendable_queue as
  select x.* from (
    select q.*,
      (select case when q.kind = 'RESTATE' and b.takes_restatements then 'data_manager'
         else 'ads_api' end
       from private.adjustment_bases b
       where q.kind <> 'CONVERSION' and b.sale_id = q.sale_id
         and b.provider_key = q.provider_key and b.waits_for is null) as adjusts_via
    from public.offline_conversion_queue q) x
  where x.status in ('QUEUED', 'RETRY')
    and (x.next_retry_at is null or x.next_retry_at <= (select private.current_moment()))
    and x.not_before <= (select private.current_moment())
    and (x.click_expires_at > (select private.current_moment())) is true
    and x.by_hand_reason is null
    and (x.kind = 'CONVERSION' or x.adjusts_via is not null)
    and exists (select from public.sales s where s.id = x.sale_id and private.may_tell(s, x.kind)
      and (s.status = 'CANCELED') = (x.kind = 'RETRACT'))
    and not exists (select from private.held_sales h where x.kind = 'CONVERSION'
      and h.sale_id = x.sale_id and h.provider_key = x.provider_key)
    and exists (select from public.provider_conversion_actions a
      where a.site_id = x.site_id and a.provider_key = x.provider_key and case
        when x.conversion_action is not null
          then split_part(x.conversion_action, '/', 2) = split_part(a.action, '/', 2)
            and not exists (select from public.provider_conversion_actions b
              where b.site_id = x.site_id and b.provider_key = x.provider_key
                and b.action = x.conversion_action and b.blocked_at is not null)
        else a.blocked_at is null and a.conversion_name = coalesce(
            case when x.kind = 'CONVERSION' or exists (
                select from public.provider_conversion_actions b where b.site_id = x.site_id
                  and b.provider_key = x.provider_key and b.conversion_name = x.conversion_name)
              then x.conversion_name end,
            (select coalesce(s.conversion_names ->> 'seal', private.default_conversion_name('seal'))
             from public.sites s where s.id = x.site_id))
          and (a.google_name is null or a.google_name = a.conversion_name
            or x.kind <> 'CONVERSION'
            or not (x.may_have_arrived or exists (select from public.provider_dispatches d
              where d.sale_id = x.sale_id and d.verdict is distinct from 'REJECTED')))
        end);

-- open_connections: each (site, provider) of which something may be sent, sooner or later: a site
-- that sends by API, connected and not blocked. The circuit may be open. pass_gate asks the same of
-- one site, under its lock.
create view private.open_connections as
  select c.site_id, c.provider_key, c.transport, coalesce(h.state, 'CLOSED') as state,
    coalesce(h.probe_limit, 5) as probe_limit, h.next_probe_at, h.served_at
  from public.provider_credentials c
    join public.sites s on s.id = c.site_id and s.oci_sync_method = 'api' and s.archived_at is null
    left join public.provider_health_state h
      on h.site_id = c.site_id and h.provider_key = c.provider_key
  where h.blocked_at is null
    and (h.quota_until is null or h.quota_until <= private.current_moment());

-- hand_out: claim rows that the caller has locked.
--   Takes    p_name: what the site calls a sale in Google Ads now. A row that has a name keeps it.
--            p_vias: which API takes each row; null for a script. A script that gets what an API may
--            have delivered uses Google's name of that action, so that it counts once.
--   Moves    QUEUED/RETRY -> PROCESSING.
--   Writes   what is handed out: name, snapshot and value on the row, ids in dispatch_identifiers.
--            Hashes of the phone number and the e-mail address leave only where the customer agreed
--            in so many words: the visitor's newest choice, or a sale from elsewhere that says so.
--   Returns  the rows as they must be sent, in the order given. A row whose sale came to nothing meanwhile is left out.
create function private.hand_out(
  p_ids uuid[], p_sale_ids uuid[], p_vias text[], p_token uuid, p_name text
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
          conversion_action = case
            when i.via is not null then coalesce(q.conversion_action, (
              select a.action from public.provider_conversion_actions a
              where a.site_id = q.site_id and a.provider_key = q.provider_key
                and a.conversion_name = coalesce(
                  case when q.kind = 'CONVERSION' or exists (
                      select from public.provider_conversion_actions b where b.site_id = q.site_id
                        and b.provider_key = q.provider_key
                        and b.conversion_name = q.conversion_name) then q.conversion_name end,
                  p_name)))
            when q.conversion_action is not null and (q.may_have_arrived
                or exists (select from public.provider_dispatches d
                  where d.sale_id = q.sale_id and d.verdict is distinct from 'REJECTED'))
              then q.conversion_action end,
          claims = (p_token || q.claims)[1:50], handed_via = i.via,
          handed_vias_differ = q.handed_vias_differ or coalesce(q.handed_via <> i.via, false),
          click_kind = case when s.gclid is not null then 'gclid'
            when s.gbraid is not null then 'gbraid' when s.wbraid is not null then 'wbraid' end,
          identifiers_hash = encode(sha256(convert_to(jsonb_build_array(
            i.salt, s.gclid, s.wbraid, s.gbraid, person.phone, person.email)::text, 'UTF8')), 'hex')
      -- Each row has its own salt: one for the batch would stay with the rows that are kept.
      from (select u.*, gen_random_uuid() as salt
            from unnest(p_ids, p_sale_ids, p_vias) with ordinality u (id, sale_id, via, position)) i
        join public.sales s on s.id = i.sale_id
        cross join lateral (select x.id, x.amount_cents from public.revenue_snapshots x where x.sale_id = s.id order by x.sequence desc limit 1) r
        left join public.calls c on c.id = s.call_id
        left join lateral (
          select x.chosen_at, 'marketing' = any (x.scopes) as is_given from public.consent_choices x
          where x.site_id = c.site_id and x.visitor_id = c.visitor_id
          order by x.chosen_at desc, x.id desc limit 1) choice on true
        -- A click without a call, or the hash of an e-mail address, is kept only where the customer
        -- of a sale from elsewhere agreed.
        cross join lateral (select case
          when s.call_id is null or s.email_hash is not null or choice.is_given then 'GRANTED'
          end as consent) said
        cross join lateral (select
          case when said.consent is not null then coalesce(s.customer_hash, c.caller_hash) end as phone,
          case when said.consent is not null then s.email_hash end as email) person
      where q.id = i.id and s.delivery_block is null
        -- What the visitor said since; what Google has may still be corrected.
        and (q.kind <> 'CONVERSION'
          or coalesce(choice.is_given or choice.chosen_at <= s.occurred_at, true))
        and (s.status = 'CONFIRMED') = (q.kind <> 'RETRACT') and (r.amount_cents > 0) = (q.kind <> 'RETRACT')
      returning i.position, i.salt, i.via, q.id, q.site_id, q.provider_key, q.kind, q.order_id,
        q.conversion_name, q.conversion_action, q.value_cents, q.currency, q.conversion_time,
        q.attempt_count, q.may_have_arrived, q.sale_id, q.channel, s.gclid, s.wbraid, s.gbraid, s.clicked_at, said.consent, person.phone, person.email),
  identified as (
    insert into public.dispatch_identifiers as d
        (queue_id, site_id, gclid, wbraid, gbraid, customer_hash, email_hash, salt, handed_at)
      select c.id, c.site_id, c.gclid, c.wbraid, c.gbraid, c.phone, c.email, c.salt, v_now
      from claimed c
      on conflict (queue_id) do update
        set gclid = excluded.gclid, wbraid = excluded.wbraid, gbraid = excluded.gbraid,
            customer_hash = excluded.customer_hash, email_hash = excluded.email_hash,
            salt = excluded.salt, handed_at = excluded.handed_at)
  select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'saleId', c.sale_id, 'kind', c.kind,
    'orderId', c.order_id, 'conversionName', coalesce(n.google_name, c.conversion_name),
    'conversionAction', c.conversion_action,
    'via', c.via, 'valueCents', c.value_cents, 'currency', c.currency,
    'conversionTime', c.conversion_time, 'timezone', t.timezone, 'attemptCount', c.attempt_count,
    'gclid', c.gclid, 'wbraid', c.wbraid, 'gbraid', c.gbraid, 'clickedAt', c.clicked_at,
    'customerHash', c.phone, 'emailHash', c.email, 'channel', c.channel, 'consent', c.consent,
    'mayHaveArrived', c.may_have_arrived or exists (
      select from public.provider_dispatches d where d.sale_id = c.sale_id))
    order by c.position), '[]')
  into v_rows from claimed c join public.sites t on t.id = c.site_id
    left join private.action_names n
      on c.via is null and n.site_id = c.site_id and n.action = c.conversion_action;
  return v_rows;
end
$$;

-- claim_offline_conversion_rows_for_script_export: hand conversions to a site's Google Ads Script.
--   Moves    QUEUED/RETRY -> PROCESSING, of the given rows those that are this site's, due, not held
--            and have attempts left. Conversions only: a script cannot correct what Google has.
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
      and not exists (select from private.held_sales h
        where h.sale_id = q.sale_id and h.provider_key = q.provider_key)
    order by q.next_retry_at nulls first, q.created_at, q.id
    for update skip locked) t;
  perform private.act(('api_key', p_key_id)::private.actor, 'SCRIPT_EXPORT');
  return jsonb_build_object('token', v_token,
    'rows', private.hand_out(v_ids, v_sale_ids, null, v_token, v_name));
end
$$;

-- lock_due: lock up to p_limit rows of one (site, provider) that could be sent now, and give them with their sales.
--   Takes    p_transport: the API that the site sends by; vias says which one takes each row.
--   Reads    them off idx_offline_conversion_queue_eligible_scan in order: first the never deferred, then the due. Two scans, because
--            one with "is null or <= now" would walk every row that waits for later. Hashed or
--            sorted, a claim of fifty would read every sale there is.
--   Safe     from many workers at once: skip locked gives each row to one of them.
create function private.lock_due(
  p_site_id uuid, p_provider_key text, p_limit int, p_max_attempts int, p_transport text,
  out row_ids uuid[], out sale_ids uuid[], out vias text[]
)
language plpgsql security definer set search_path = ''
  set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  with fresh as materialized (
    select q.id, q.sale_id, q.adjusts_via from private.sendable_queue q
    where q.site_id = p_site_id and q.provider_key = p_provider_key and q.next_retry_at is null
      and q.attempt_count - q.attempt_base < p_max_attempts
    order by q.next_retry_at nulls first, q.created_at, q.id limit p_limit
    for update skip locked),
  due as materialized (
    select q.id, q.sale_id, q.adjusts_via from private.sendable_queue q
    where q.site_id = p_site_id and q.provider_key = p_provider_key and q.next_retry_at <= v_now
      and q.attempt_count - q.attempt_base < p_max_attempts
    order by q.next_retry_at nulls first, q.created_at, q.id
    limit p_limit - (select count(*) from fresh)
    for update skip locked)
  select array_agg(t.id), array_agg(t.sale_id),
      array_agg(case when t.adjusts_via = 'ads_api' then 'ads_api' else p_transport end)
    into row_ids, sale_ids, vias from (select * from fresh union all select * from due) t;
end
$$;

-- claim_offline_conversion_jobs_v2: lease up to p_limit due rows of one (site, provider) to a worker.
--   Moves    QUEUED/RETRY -> PROCESSING, of the rows of sendable_queue.
--   Safe     from many workers at once: whether anything may be sent, who probes, and what is claimed
--            are decided under the lock of the health row.
--   Writes   STARTED in the ledger of attempts, with the token as its batch. A probe that finds
--            nothing gives its lease back.
--   Returns  {token, gate, rows, batch: {credentialsVersion}}. The gate is CLOSED or HALF_OPEN (the
--            caller probes), or why there are no rows: OPEN, BLOCKED, NOT_CONNECTED, SCRIPT.
--            A row's `via` says which API takes it. At most 1,000 rows.
--   Callers  service role only.
create function public.claim_offline_conversion_jobs_v2(p_site_id uuid, p_provider_key text, p_limit int, p_max_attempts int default 5) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_token uuid := gen_random_uuid();
  v_gate record;
  v_name text;
  v_due record;
  v_rows jsonb := '[]';
begin
  select * into v_gate from private.pass_gate(p_site_id, p_provider_key, v_token);
  if v_gate.gate in ('CLOSED', 'HALF_OPEN') then
    select private.conversion_name(s, 'seal') into v_name from public.sites s where s.id = p_site_id;
    v_due := private.lock_due(p_site_id, p_provider_key,
      least(greatest(p_limit, 0), 1000, case v_gate.gate when 'HALF_OPEN' then v_gate.probe_limit end),
      p_max_attempts, v_gate.transport);
    perform private.act(('system', null)::private.actor, 'WORKER_CLAIM');
    v_rows := private.hand_out(v_due.row_ids, v_due.sale_ids, v_due.vias, v_token, v_name);
    if jsonb_array_length(v_rows) > 0 then
      perform private.start_batch(p_site_id, p_provider_key, v_token, 'seals',
        jsonb_array_length(v_rows));
    elsif v_gate.gate = 'HALF_OPEN' then
      perform private.return_probe(p_site_id, p_provider_key, v_token);
    end if;
  end if;
  return jsonb_build_object('token', v_token, 'gate', v_gate.gate, 'rows', v_rows,
    'batch', jsonb_build_object('credentialsVersion', v_gate.credentials_version));
end
$$;

-- defer_offline_conversion_jobs: let due rows wait, because nothing may be sent now (circuit, semaphore). No attempt is spent.
--   Moves    QUEUED/RETRY -> RETRY, at most p_limit rows; each waits up to p_jitter_seconds longer, so that they do not come back as one.
--            The error of the last real attempt stays where it is.
--   Writes   STARTED and FINISHED in the ledger of attempts, when a row was deferred.
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
  if not exists (select from private.open_connections c
      where c.site_id = p_site_id and c.provider_key = p_provider_key) then
    return '{"deferred": 0}';
  end if;
  v_due := private.lock_due(p_site_id, p_provider_key, least(greatest(p_limit, 0), 5000),
    p_max_attempts, null);
  perform private.act(('system', null)::private.actor, 'DEFERRED');
  update public.offline_conversion_queue q
    set status = 'RETRY', next_retry_at = p_until + random() * make_interval(secs => p_jitter_seconds), provider_error_code = left(p_code, 64),
        provider_error_category = 'TRANSIENT', last_error = left(p_words, 1024), updated_at = private.current_moment()
    where q.id = any (v_due.row_ids);
  get diagnostics v_deferred = row_count;
  if v_deferred > 0 then
    perform private.record_deferral(p_site_id, p_provider_key, v_deferred, p_code);
  end if;
  return jsonb_build_object('deferred', v_deferred);
end
$$;

-- list_offline_conversion_groups: which (site, provider) have something due for a worker.
--   Reads    each due row of each connected site once, some 10 µs a row: half a second when 50,000
--            are due, which a site's backlog is only after an outage. Rows that wait for later are
--            not read.
--   Returns  [{site_id, provider_key, queued_count (what could be claimed now), min_next_retry_at
--            (null when a row was never deferred), min_created_at, state, probe_limit,
--            next_probe_at, is_probe_due, served_at}], in the order in which they should be served.
--            A site that is blocked or not connected is left out; one with an open circuit is not.
--   Callers  service role only.
create function public.list_offline_conversion_groups(p_limit_groups int default 50, p_max_attempts int default 5) returns jsonb
language sql stable security definer set search_path = ''
as $$
  with due as (
    select g.site_id, g.provider_key, d.queued_count, d.min_next_retry_at, d.min_created_at,
      g.state, g.probe_limit, g.next_probe_at,
      g.state = 'OPEN' and g.next_probe_at <= private.current_moment() as is_probe_due,
      g.served_at
    from private.open_connections g
    cross join lateral (
      select count(*) as queued_count,
        case when bool_or(r.next_retry_at is null) then null else min(r.next_retry_at) end
          as min_next_retry_at,
        min(r.created_at) as min_created_at
      from (
        select q.next_retry_at, q.created_at from private.sendable_queue q
        where q.site_id = g.site_id and q.provider_key = g.provider_key and q.next_retry_at is null
          and q.attempt_count - q.attempt_base < p_max_attempts
        union all
        select q.next_retry_at, q.created_at from private.sendable_queue q
        where q.site_id = g.site_id and q.provider_key = g.provider_key
          and q.next_retry_at <= (select private.current_moment())
          and q.attempt_count - q.attempt_base < p_max_attempts) r) d
    where d.queued_count > 0
    order by d.min_next_retry_at nulls first, d.min_created_at, g.site_id
    limit least(greatest(p_limit_groups, 1), 10000))
  select coalesce(jsonb_agg(to_jsonb(due.*)
    order by due.min_next_retry_at nulls first, due.min_created_at, due.site_id), '[]') from due
$$;

grant execute on function
  public.claim_offline_conversion_rows_for_script_export(uuid[], uuid, int, uuid),
  public.claim_offline_conversion_jobs_v2(uuid, text, int, int),
  public.defer_offline_conversion_jobs(uuid, text, int, timestamptz, text, text, int, int),
  public.list_offline_conversion_groups(int, int)
to opsmantik_app, service_role;
