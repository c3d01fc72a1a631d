-- Plain rows are nearly all rows: nothing but the seal happened to their sale, and they were never
-- handed out. What a claim asks of others (earlier hand-outs, other sales of the lead, corrections,
-- actions of earlier names) has one answer for all of them, so this claims them together, with a
-- look at the sale and the visitor's newest choice. Everything else is lock_due's and
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
--   Safe     from many workers at once: skip locked gives each row to one of them. One statement
--            locks and reads the rows, the next one writes them. As one statement they were copied
--            twice: 4 to 6 % of a row's whole cost in batches.
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
  v_due record;
  v_line bigint;
  v_written int;
begin
  -- In the order of the index: here nothing hashes or sorts. If it were not, the next claim would
  -- begin elsewhere, and go back to the start within seconds. The inner select stays one: once per
  -- row a salt is drawn and a number hashed.
  select count(*) filter (where d.may_go) as claimed,
      array_agg(d.eligible_at) filter (where d.may_go) as eligible_ats,
      array_agg(d.created_at) filter (where d.may_go) as created_ats,
      array_agg(d.tid) filter (where d.may_go is not true) as left_tids,
      array_agg(d.tid) filter (where d.may_go) as tids,
      array_agg(case when d.salt is not null then private.identifiers_hash(
          d.salt, d.gclid, d.wbraid, d.gbraid, d.phone, d.email) end)
        filter (where d.may_go) as hashes,
      array_agg(row(d.id, p_site_id, d.gclid, d.wbraid, d.gbraid, d.phone, d.email, d.salt,
          v_now)::public.dispatch_identifiers)
        filter (where d.may_go and d.salt is not null) as identified,
      array_agg(d.id) filter (where d.may_go) as row_ids,
      json_build_object(
        'id', json_agg(d.id) filter (where d.may_go),
        'saleId', json_agg(d.sale_id) filter (where d.may_go),
        'orderId', json_agg(d.order_id) filter (where d.may_go),
        'valueCents', json_agg(d.value_cents) filter (where d.may_go),
        'currency', json_agg(d.currency) filter (where d.may_go),
        'conversionTime', json_agg(d.conversion_time) filter (where d.may_go),
        'gclid', json_agg(d.gclid) filter (where d.may_go),
        'wbraid', json_agg(d.wbraid) filter (where d.may_go),
        'gbraid', json_agg(d.gbraid) filter (where d.may_go),
        'customerHash', json_agg(d.phone) filter (where d.may_go),
        'emailHash', json_agg(d.email) filter (where d.may_go),
        'channel', json_agg(d.channel) filter (where d.may_go),
        'consent', json_agg(d.consent) filter (where d.may_go)) as columns
    into v_due
    from (
      select q.*, s.gclid, s.wbraid, s.gbraid,
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
        select q.ctid as tid, q.id, q.sale_id, q.created_at, q.order_id, q.value_cents,
          q.currency, q.conversion_time, q.channel,
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
          select x.chosen_at, 'marketing' = any (x.scopes) as is_given
          from public.consent_choices x
          where x.site_id = c.site_id and x.visitor_id = c.visitor_id
          order by x.chosen_at desc, x.id desc limit 1) choice on true
        cross join lateral (select
          s.call_id is null or s.email_hash is not null or choice.is_given as is_given) said) d;
  claimed := v_due.claimed;
  if claimed > 0 then
    last := json_build_object('eligibleAt', v_due.eligible_ats[claimed],
      'createdAt', v_due.created_ats[claimed], 'id', v_due.row_ids[claimed]);
  end if;
  if v_due.left_tids is not null then   -- from now on lock_due's, which knows why they wait
    update private.queue_open q set is_plain = false where q.ctid = any (v_due.left_tids);
  end if;
  if claimed = 0 and p_others = 0 then
    return;
  end if;
  v_line := private.next_move_id();   -- once all rows are locked: it tells the order of their moves
  if claimed > 0 then
    plain := json_build_object('each', json_build_object('kind', 'CONVERSION',
      'conversionName', p_by.name, 'conversionAction', p_by.action, 'via', p_by.transport,
      'timezone', p_by.timezone, 'attemptCount', 1, 'mayHaveArrived', false),
      'columns', v_due.columns);
    update private.queue_open q
      set status = 'PROCESSING', claimed_at = v_now, claim_token = p_by.token,
          claims = v_claims, attempt_count = 1,
          handed_snapshot_id = q.snapshot_id, handed_value_cents = q.value_cents,
          conversion_name = p_by.name, conversion_action = p_by.action,
          handed_via = p_by.transport, claimed_in = v_line, claimed_from = q.state,
          identifiers_hash = coalesce(t.hash, q.identifiers_hash)
      from unnest(v_due.tids, v_due.hashes) t (tid, hash) where q.ctid = t.tid;
    get diagnostics v_written = row_count;
    if v_written <> claimed then
      raise exception 'A claim locked % rows and wrote %.', claimed, v_written;
    end if;
  end if;
  if v_due.identified is not null then   -- the click ids are there since enqueue
    insert into public.dispatch_identifiers as d select i.* from unnest(v_due.identified) i
      on conflict (queue_id) do update
        set gclid = excluded.gclid, wbraid = excluded.wbraid, gbraid = excluded.gbraid,
            customer_hash = excluded.customer_hash, email_hash = excluded.email_hash,
            salt = excluded.salt, handed_at = excluded.handed_at;
  end if;
  if p_others = 0 then
    insert into private.queue_leases (token, site_id, claimed_at, row_ids, provider_key, pipeline,
        claimed_count, started_in)
      values (p_by.token, p_site_id, v_now, v_due.row_ids, p_provider_key, 'seals', claimed,
        v_line);
  else   -- hand_out claimed others under the same token
    update private.queue_leases l
      set row_ids = l.row_ids || coalesce(v_due.row_ids, '{}'), provider_key = p_provider_key,
          pipeline = 'seals', claimed_count = p_others + claimed, started_in = v_line
      where l.token = p_by.token;
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
