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
--   Writes   what is handed out, as hand_out does; one line in the ledger for rows that come from
--            the same state; the counts; and what start_batch does, of all rows under the token.
--   Safe     from many workers at once: skip locked gives each row to one of them.
--   Returns  {claimed, rows, last {eligibleAt, createdAt, id}: the place of the last row}, rows as
--            hand_out gives them.
create function private.claim_plain(
  p_site_id uuid, p_provider_key text, p_limit int, p_by private.handing, p_after jsonb,
  p_others int, out claimed int, out rows json, out last json
)
language plpgsql security definer set search_path = ''
  set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
  set enable_seqscan = off
as $$
declare
  v_now timestamptz := private.current_moment();
  v_after_at timestamptz := coalesce((p_after ->> 'eligibleAt')::timestamptz, '-infinity');
  v_after_created timestamptz := coalesce((p_after ->> 'createdAt')::timestamptz, '-infinity');
  v_after_id uuid := coalesce(
    (p_after ->> 'id')::uuid, '00000000-0000-0000-0000-000000000000');
  v_ids uuid[];
begin
  with due as materialized (
    select q.ctid as tid, q.id, q.sale_id, q.status, q.eligible_at, q.created_at
    from private.queue_open q
    where q.site_id = p_site_id and q.provider_key = p_provider_key
      and q.state in ('QUEUED', 'RETRY') and q.claim_token is null and q.is_plain
      and q.eligible_at <= v_now and q.not_before <= v_now and q.click_expires_at > v_now
      and (q.eligible_at, q.created_at, q.id)
        > (v_after_at, v_after_created, v_after_id)
    order by q.eligible_at, q.created_at, q.id limit p_limit
    for update skip locked),
  numbered as materialized (   -- once all rows are locked: numbers tell the order of a row's moves
    -- Of rows that come from QUEUED, and from RETRY.
    select array[private.next_move_id(), private.next_move_id()] as lines
    from (select count(*) from due) d),
  taken as (
    update private.queue_open q
      set claimed_at = v_now, claim_token = p_by.token, claims = array[p_by.token],
          attempt_count = 1,
          handed_snapshot_id = q.snapshot_id, handed_value_cents = q.value_cents,
          conversion_name = p_by.name, conversion_action = p_by.action,
          handed_via = p_by.transport,
          claimed_in = n.lines[case q.status when 'QUEUED' then 1 else 2 end],
          identifiers_hash = case when person.salt is null then q.identifiers_hash
            else private.identifiers_hash(
              person.salt, s.gclid, s.wbraid, s.gbraid, person.phone, person.email) end
      from due d cross join numbered n
        join public.sales s on s.id = d.sale_id
        left join public.calls c on c.id = s.call_id
        left join lateral (
          select x.chosen_at, 'marketing' = any (x.scopes) as is_given from public.consent_choices x
          where x.site_id = c.site_id and x.visitor_id = c.visitor_id
          order by x.chosen_at desc, x.id desc limit 1) choice on true
        cross join lateral (select case
          when s.call_id is null or s.email_hash is not null or choice.is_given then 'GRANTED'
          end as consent) said
        -- Offset 0, so that the number is hashed once.
        cross join lateral (select
          case when said.consent is not null
            then coalesce(s.customer_hash,
              case when c.phone is not null then private.phone_to_send(c) end) end as phone,
          case when said.consent is not null then s.email_hash end as email offset 0) known
        cross join lateral (select known.phone, known.email,
          case when coalesce(known.phone, known.email) is not null
            then gen_random_uuid() end as salt offset 0) person
      where q.ctid = d.tid and s.status = 'CONFIRMED' and private.may_send(s, 'CONVERSION')
        -- The visitor's choice since then.
        and coalesce(choice.is_given or choice.chosen_at <= s.occurred_at, true)
        -- Another sale of the lead that was cancelled at the moment in which this one was queued.
        and not exists (select from public.sales o
          where o.call_id in (s.call_id, s.sibling_call_id) and o.id <> s.id
            and o.status = 'CANCELED')
      returning q.id, q.sale_id, q.order_id, q.value_cents, q.currency, q.conversion_time,
        q.channel, q.created_at, d.status, person.salt, s.gclid, s.wbraid, s.gbraid, s.clicked_at,
        said.consent, person.phone, person.email),
  identified as (   -- the click ids are there since the row was queued: see enqueue
    insert into public.dispatch_identifiers as d
        (queue_id, site_id, gclid, wbraid, gbraid, customer_hash, email_hash, salt, handed_at)
      select t.id, p_site_id, t.gclid, t.wbraid, t.gbraid, t.phone, t.email, t.salt, v_now
      from taken t where t.salt is not null
      on conflict (queue_id) do update
        set gclid = excluded.gclid, wbraid = excluded.wbraid, gbraid = excluded.gbraid,
            customer_hash = excluded.customer_hash, email_hash = excluded.email_hash,
            salt = excluded.salt, handed_at = excluded.handed_at),
  leased as (
    insert into private.queue_leases as l (token, site_id, claimed_at, row_ids)
      select p_by.token, p_site_id, v_now, array_agg(t.id) from taken t having count(*) > 0
      on conflict (token) do update   -- hand_out claimed others under the same token
        set row_ids = l.row_ids || excluded.row_ids),
  sums as materialized (
    select t.status, t.currency, date_trunc('hour', t.created_at, 'UTC') as hour,
      count(*) as n, sum(t.value_cents) as value_cents
    from taken t group by 1, 2, 3),
  counted as (
    insert into private.queue_count_deltas (site_id, provider_key, status, currency, code,
        category, row_count, value_cents, hour)
      select p_site_id, p_provider_key, x.status, s.currency, '', '', x.sign * s.n,
        x.sign * s.value_cents, s.hour
      from sums s
        cross join lateral (values (s.status, -1), ('PROCESSING', 1)) x (status, sign)),
  recorded as (
    insert into private.queue_batch_moves (id, site_id, from_status, to_status, reason, actor_kind,
        created_at)
      select n.lines[case s.status when 'QUEUED' then 1 else 2 end], p_site_id, s.status,
        'PROCESSING', 'WORKER_CLAIM', 'system', v_now
      from (select distinct x.status from sums x) s cross join numbered n),
  batch as materialized (
    select p_others + coalesce(sum(s.n), 0) as n from sums s),
  started as (
    insert into public.provider_upload_attempts (site_id, provider_key, batch_id, phase,
        claimed_count, created_at)
      select p_site_id, p_provider_key, p_by.token, 'STARTED', b.n, v_now
      from batch b where b.n > 0),
  opened as (
    insert into private.open_upload_batches (batch_id, site_id, provider_key, pipeline,
        claimed_count, started_at)
      select p_by.token, p_site_id, p_provider_key, 'seals', b.n, v_now from batch b where b.n > 0)
  select (select b.n - p_others from batch b),
      (select coalesce(json_agg(j), '[]') from (
        select t.id, t.sale_id as "saleId", 'CONVERSION' as kind, t.order_id as "orderId",
          p_by.name as "conversionName", p_by.action as "conversionAction",
          p_by.transport as via, t.value_cents as "valueCents", t.currency,
          t.conversion_time as "conversionTime", p_by.timezone as timezone, 1 as "attemptCount",
          t.gclid, t.wbraid, t.gbraid, t.clicked_at as "clickedAt", t.phone as "customerHash",
          t.email as "emailHash", t.channel, t.consent, false as "mayHaveArrived"
        from taken t) j),
      (select json_build_object(
         'eligibleAt', l.eligible_at, 'createdAt', l.created_at, 'id', l.id)
       from (select d.eligible_at, d.created_at, d.id from due d
         offset (select greatest(count(*) - 1, 0) from due)) l),
      (select array_agg(d.id) from due d)
    into claimed, rows, last, v_ids;
  if claimed < cardinality(v_ids) then   -- from now on lock_due's, which knows why they wait
    update private.queue_open q set is_plain = false
      where q.id = any (v_ids) and q.claim_token is distinct from p_by.token;
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
