-- Plain rows are nearly all rows: nothing but the seal happened to their sale, and they were never
-- handed out. What a claim asks of others (earlier hand-outs, other sales of the lead, corrections,
-- actions of earlier names) has one answer for all of them, so this claims them in one statement,
-- with a look at the sale and the visitor's newest choice. Everything else is lock_due's and
-- hand_out's.

-- What is the same for all rows that a worker claims.
create type private.handing as (
  token uuid,
  transport text,                                  -- the API that the site sends by
  name text,                                       -- what the site calls a sale
  action text,                                     -- the usable conversion action of that name
  timezone text
);

-- claim_plain: claim up to p_limit due plain rows of one (site, provider), for one API.
--   Takes    p_after: `last` of an earlier claim of the same worker, or null. Rows
--            before it were taken or locked then, and their old versions stay in the index while
--            any transaction is open: without this a claim walks over all of them. p_others: how
--            many rows were claimed under the same token before.
--   Moves    QUEUED/RETRY -> PROCESSING.
--   Writes   what is handed out, as hand_out does; and what start_batch does, of all rows under
--            the token: STARTED is also the line of the claim in the ledger.
--   Safe     from many workers at once: skip locked gives each row to one of them.
--   Returns  {claimed, plain, last {eligibleAt, createdAt, id}: the place of the last row}. plain
--            is {each, columns}, or null for no rows: each holds what is the same for all rows,
--            columns an array for every other field of what hand_out gives. Rows as objects took
--            four times as long to write.
create function private.claim_plain(
  p_site_id uuid, p_provider_key text, p_limit int, p_by private.handing, p_after jsonb,
  p_others int, out claimed int, out plain json, out last json
)
language plpgsql security definer set search_path = ''
  set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
  set enable_seqscan = off set enable_memoize = off
as $$
declare
  v_now timestamptz := private.current_moment();
  v_after_at timestamptz := coalesce((p_after ->> 'eligibleAt')::timestamptz, '-infinity');
  v_after_created timestamptz := coalesce((p_after ->> 'createdAt')::timestamptz, '-infinity');
  v_after_id uuid := coalesce(
    (p_after ->> 'id')::uuid, '00000000-0000-0000-0000-000000000000');
  v_claims uuid[] := array[p_by.token];
  v_each json := json_build_object('kind', 'CONVERSION', 'conversionName', p_by.name,
    'conversionAction', p_by.action, 'via', p_by.transport, 'timezone', p_by.timezone,
    'attemptCount', 1, 'mayHaveArrived', false);
  v_left uuid[];
begin
  -- Materialized: once per row a salt is drawn and a number hashed. In the order of the index: here
  -- nothing hashes or sorts. If it were not, the next claim would begin elsewhere, and go back to
  -- the start within seconds.
  with due as materialized (
    select q.tid, q.id, q.state, q.eligible_at, q.created_at,
      s.gclid, s.wbraid, s.gbraid,
      case when said.is_given then 'GRANTED' end as consent,
      case when said.is_given then coalesce(s.customer_hash,
        case when c.phone is not null then private.phone_to_send(c) end) end as phone,
      case when said.is_given then s.email_hash end as email,
      case when said.is_given and coalesce(s.customer_hash, c.phone, s.email_hash) is not null
        then gen_random_uuid() end as salt,
      s.status = 'CONFIRMED' and private.may_send(s, 'CONVERSION')
        -- The visitor's choice since then.
        and coalesce(choice.is_given or choice.chosen_at <= s.occurred_at, true)
        -- Another sale of the lead that was cancelled at the moment in which this one was queued.
        and not exists (select from public.sales o
          where o.call_id in (s.call_id, s.sibling_call_id) and o.id <> s.id
            and o.status = 'CANCELED') as may_go
    from (
      select q.ctid as tid, q.id, q.sale_id, q.state, q.created_at,
        coalesce(q.next_retry_at, '-infinity') as eligible_at
      from private.queue_open q
      where q.site_id = p_site_id and q.provider_key = p_provider_key
        and q.state in ('QUEUED', 'RETRY') and q.claim_token is null and q.is_plain
        and coalesce(q.next_retry_at, '-infinity') <= v_now
        and q.not_before <= v_now and q.click_expires_at > v_now
        and (coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id)
          > (v_after_at, v_after_created, v_after_id)
      order by coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id limit p_limit
      for update skip locked) q
      join public.sales s on s.id = q.sale_id
      left join public.calls c on c.id = s.call_id
      left join lateral (
        select x.chosen_at, 'marketing' = any (x.scopes) as is_given from public.consent_choices x
        where x.site_id = c.site_id and x.visitor_id = c.visitor_id
        order by x.chosen_at desc, x.id desc limit 1) choice on true
      cross join lateral (select
        s.call_id is null or s.email_hash is not null or choice.is_given as is_given) said),
  place as materialized (   -- once all rows are locked: numbers tell the order of a row's moves
    select private.next_move_id() as line, d.*
    from (select count(*) as n, array_agg(x.id) as ids, array_agg(x.eligible_at) as eligible_ats,
        array_agg(x.created_at) as created_ats from due x) d),
  taken as (
    update private.queue_open q
      set status = 'PROCESSING', claimed_at = v_now, claim_token = p_by.token,
          claims = v_claims, attempt_count = 1,
          handed_snapshot_id = q.snapshot_id, handed_value_cents = q.value_cents,
          conversion_name = p_by.name, conversion_action = p_by.action,
          handed_via = p_by.transport, claimed_in = p.line, claimed_from = d.state,
          identifiers_hash = case when d.salt is null then q.identifiers_hash
            else private.identifiers_hash(
              d.salt, d.gclid, d.wbraid, d.gbraid, d.phone, d.email) end
      from place p cross join due d where d.may_go and q.ctid = d.tid
      returning q.id, q.sale_id, q.value_cents, q.conversion_time, q.currency, q.order_id,
        q.channel, d.salt, d.gclid, d.wbraid, d.gbraid, d.consent, d.phone, d.email),
  identified as (   -- the click ids are there since the row was queued: see enqueue
    insert into public.dispatch_identifiers as d
        (queue_id, site_id, gclid, wbraid, gbraid, customer_hash, email_hash, salt, handed_at)
      select t.id, p_site_id, t.gclid, t.wbraid, t.gbraid, t.phone, t.email, t.salt, v_now
      from taken t where t.salt is not null
      on conflict (queue_id) do update
        set gclid = excluded.gclid, wbraid = excluded.wbraid, gbraid = excluded.gbraid,
            customer_hash = excluded.customer_hash, email_hash = excluded.email_hash,
            salt = excluded.salt, handed_at = excluded.handed_at),
  handed as materialized (
    select count(*) as n, array_agg(t.id) as ids, json_build_object('each', v_each,
      'columns', json_build_object(
        'id', json_agg(t.id), 'saleId', json_agg(t.sale_id), 'orderId', json_agg(t.order_id),
        'valueCents', json_agg(t.value_cents), 'currency', json_agg(t.currency),
        'conversionTime', json_agg(t.conversion_time), 'gclid', json_agg(t.gclid),
        'wbraid', json_agg(t.wbraid), 'gbraid', json_agg(t.gbraid),
        'customerHash', json_agg(t.phone), 'emailHash', json_agg(t.email),
        'channel', json_agg(t.channel), 'consent', json_agg(t.consent))) as plain
    from taken t),
  leased as (
    insert into private.queue_leases as l (token, site_id, claimed_at, row_ids, provider_key,
        pipeline, claimed_count, started_in)
      select p_by.token, p_site_id, v_now, coalesce(h.ids, '{}'), p_provider_key, 'seals',
        p_others + h.n, p.line
      from handed h cross join place p where p_others + h.n > 0
      on conflict (token) do update   -- hand_out claimed others under the same token
        set row_ids = l.row_ids || excluded.row_ids, provider_key = excluded.provider_key,
            pipeline = excluded.pipeline, claimed_count = excluded.claimed_count,
            started_in = excluded.started_in)
  select h.n, case when h.n > 0 then h.plain end,
      case when p.n > 0 then json_build_object('eligibleAt', p.eligible_ats[p.n],
        'createdAt', p.created_ats[p.n], 'id', p.ids[p.n]) end,
      case when h.n < p.n then p.ids end
    into claimed, plain, last, v_left from handed h cross join place p;
  if v_left is not null then   -- from now on lock_due's, which knows why they wait
    update private.queue_open q set is_plain = false
      where q.id = any (v_left) and q.claim_token is distinct from p_by.token;
  end if;
end
$$;

-- identifiers_hash: over what was handed out, with the row's own salt. Inlined, so it is not called
-- immutable: what makes JSON is not.
create function private.identifiers_hash(
  p_salt uuid, p_gclid text, p_wbraid text, p_gbraid text, p_phone text, p_email text
) returns text
language sql stable
as $$
  select pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.jsonb_build_array(
    p_salt, p_gclid, p_wbraid, p_gbraid, p_phone, p_email)::text, 'UTF8')), 'hex')
$$;
