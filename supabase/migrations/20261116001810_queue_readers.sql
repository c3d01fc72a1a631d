-- What OCI Control reads: figures, rows by any filter, one row's whole story, and what happened over time.

-- The channel of the lead stands on the row: a filter that has to look at a call per row can not be fast.
alter table public.offline_conversion_queue add column channel text;
create function private.take_channel() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  new.channel := (select c.channel from public.calls c where c.id = new.call_id);
  return new;
end
$$;
create trigger rows_take_the_channel before insert on public.offline_conversion_queue
  for each row execute function private.take_channel();

-- One index per order and per filter that can be rare. What is open is walked for a channel, a value or the order of change: it is a small part of all.
create index queue_rows_by_status on public.offline_conversion_queue (site_id, status, created_at desc, id desc)
  where status in ('QUEUED', 'RETRY', 'COMPLETED', 'FAILED');   -- what is away is found by its claim
create index closed_rows_by_change on public.offline_conversion_queue (site_id, updated_at desc, id desc) where status in ('COMPLETED', 'FAILED');
create index closed_rows_by_channel on public.offline_conversion_queue (site_id, channel, created_at desc, id desc) where status in ('COMPLETED', 'FAILED');
create index closed_rows_by_value on public.offline_conversion_queue (site_id, status, value_cents) where status in ('COMPLETED', 'FAILED');
create index queue_rows_by_error_code on public.offline_conversion_queue (site_id, provider_error_code, status, created_at desc, id desc)
  where provider_error_code is not null;
create index queue_rows_by_error_category on public.offline_conversion_queue (site_id, provider_error_category, status, created_at desc, id desc)
  where provider_error_category is not null;
create index queue_adjustments on public.offline_conversion_queue (site_id, kind, created_at desc, id desc) where kind <> 'CONVERSION';
create index queue_rows_tried_again on public.offline_conversion_queue (site_id, status, attempt_count) where attempt_count > 1;
create index waiting_rows_by_due_time on public.offline_conversion_queue (site_id, greatest(not_before, next_retry_at)) where status in ('QUEUED', 'RETRY');
create index calls_by_phone_ending on public.calls (site_id, reverse(regexp_replace(phone, '\D', '', 'g')) text_pattern_ops) where phone is not null;
create index sales_by_gclid on public.sales (site_id, gclid) where gclid is not null;
create index sales_by_wbraid on public.sales (site_id, wbraid) where wbraid is not null;
create index sales_by_gbraid on public.sales (site_id, gbraid) where gbraid is not null;

-- stuck_after: a claim that old has lost its worker; recovery takes the row back.
create function private.stuck_after() returns interval
language sql immutable set search_path = ''
as $$ select interval '15 minutes' $$;

-- action_statuses: from which states an operator's action may take a row.
create function private.action_statuses(p_action text) returns text[]
language sql immutable set search_path = ''
as $$
  select case p_action
    when 'RETRY_SELECTED' then '{FAILED,RETRY}'::text[]
    when 'RESET_TO_QUEUED' then '{QUEUED,RETRY,PROCESSING,FAILED}'
    when 'MARK_FAILED' then '{PROCESSING,QUEUED,RETRY}' end
$$;

create function private.actor_json(p_kind text, p_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('kind', p_kind, 'name', case p_kind
    when 'user' then (select private.display_name(u) from auth.users u where u.id = p_id)
    when 'api_key' then (select k.name from public.site_api_keys k where k.id = p_id) end)
$$;

-- queue_rows_json: rows as the screen shows them, in the order given. One query for a page: a function call per row took five times as long.
create function private.queue_rows_json(p_rows public.offline_conversion_queue[], p_max_attempts int default 5) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object('id', q.id, 'callId', q.call_id, 'saleId', q.sale_id, 'provider', q.provider_key, 'kind', q.kind, 'status', q.status,
    'orderId', q.order_id, 'valueCents', q.value_cents, 'currency', q.currency, 'conversionTime', q.conversion_time, 'channel', q.channel,
    'clickKind', case when s.gclid is not null then 'gclid' when s.gbraid is not null then 'gbraid' when s.wbraid is not null then 'wbraid' end,
    'phoneEnding', (select nullif(right(regexp_replace(c.phone, '\D', '', 'g'), 4), '') from public.calls c where c.id = q.call_id),
    'attemptCount', q.attempt_count, 'attemptsLeft', greatest(0, p_max_attempts - (q.attempt_count - q.attempt_base)), 'notBefore', q.not_before,
    'nextRetryAt', q.next_retry_at, 'claimedAt', q.claimed_at, 'stuck', q.status = 'PROCESSING' and q.claimed_at < n.stuck_before,
    'lastError', q.last_error, 'providerErrorCode', q.provider_error_code, 'providerErrorCategory', q.provider_error_category,
    'uploadedAt', q.uploaded_at, 'providerRequestId', q.provider_request_id,
    'verdict', (select d.verdict from public.provider_dispatches d where d.sale_id = q.sale_id and d.queue_id = q.id order by d.dispatched_at desc, d.id desc limit 1),
    'createdAt', q.created_at, 'updatedAt', q.updated_at) order by i), '[]')
  from (select private.current_moment() - private.stuck_after() as stuck_before offset 0) n,
    generate_subscripts(p_rows, 1) i cross join lateral (select (p_rows[i]).*) q left join public.sales s on s.id = q.sale_id
$$;

-- search_queue: the rows that a search means: a row's or an order's id, a click id, or the last digits of a phone number.
create function private.search_queue(p_site_id uuid, p_text text) returns uuid[]
language plpgsql stable security definer set search_path = ''
as $$
declare
  -- Viewers see numbers masked: with more digits they could find the hidden ones by trying.
  v_digits text := right(regexp_replace(p_text, '\D', '', 'g'), case when public.has_site_role(p_site_id, 'operator') then 15 else 4 end);
  v_calls uuid[];
  v_sales uuid[];
begin
  if p_text ~* '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then
    return array[p_text::uuid];
  end if;
  if p_text ~ '^[0-9+() .•-]+$' then
    if length(v_digits) < 4 then
      return '{}';   -- three digits are half of everybody
    end if;
    -- Text, so that the prefix is a constant to the planner and the index is used; calls first, because a join would guess how many there are.
    execute format('select array_agg(t.id) from (select c.id from public.calls c
        where c.site_id = $1 and c.phone is not null and reverse(regexp_replace(c.phone, ''\D'', '''', ''g'')) like %L limit 1000) t', reverse(v_digits) || '%')
      into v_calls using p_site_id;
    select array_agg(s.id) into v_sales from public.sales s where s.call_id = any (v_calls) and s.site_id = p_site_id;
  else
    select array_agg(t.id) into v_sales from (
      select s.id from public.sales s where s.order_id = p_text and s.site_id = p_site_id
      union select s.id from public.sales s where s.site_id = p_site_id and s.gclid = p_text
      union select s.id from public.sales s where s.site_id = p_site_id and s.wbraid = p_text
      union select s.id from public.sales s where s.site_id = p_site_id and s.gbraid = p_text limit 1000) t;
  end if;
  return coalesce((select array_agg(q.id) from public.offline_conversion_queue q where q.sale_id = any (v_sales)), '{}');
end
$$;

-- queue_conditions: a filter as SQL text, from a closed set. Values are never part of the text: $1 site, $2 filter, $3 now, $4 found ids.
create function private.queue_conditions(p_filter jsonb) returns text
language plpgsql immutable set search_path = ''
as $$
declare
  v_unknown text;
begin
  select k into v_unknown from jsonb_object_keys(p_filter) k where k not in ('status', 'errorCategory', 'errorCode', 'provider', 'channel', 'kind',
    'minValue', 'maxValue', 'createdFrom', 'createdTo', 'updatedFrom', 'updatedTo', 'minAttempts', 'stuck', 'waitingForDelay', 'q', 'sort') limit 1;
  if v_unknown is not null then
    perform private.fail(400, 'VALIDATION_FAILED', jsonb_build_object('field', v_unknown));
  end if;
  return concat_ws(' and ', 'q.site_id = $1',
    case when p_filter ? 'status' then 'q.status = $2 ->> ''status''' end,
    case when p_filter ? 'errorCategory' then 'q.provider_error_category = $2 ->> ''errorCategory''' end,
    case when p_filter ? 'errorCode' then 'q.provider_error_code = $2 ->> ''errorCode''' end,
    case when p_filter ? 'provider' then 'q.provider_key = $2 ->> ''provider''' end,
    case when p_filter ? 'channel' then 'q.channel = $2 ->> ''channel''' end,
    case when p_filter ? 'kind' then 'q.kind = $2 ->> ''kind''' end,
    case when p_filter ? 'minValue' then 'q.value_cents >= ($2 ->> ''minValue'')::bigint' end,
    case when p_filter ? 'maxValue' then 'q.value_cents <= ($2 ->> ''maxValue'')::bigint' end,
    case when p_filter ? 'createdFrom' then 'q.created_at >= ($2 ->> ''createdFrom'')::timestamptz' end,
    case when p_filter ? 'createdTo' then 'q.created_at < ($2 ->> ''createdTo'')::timestamptz' end,
    case when p_filter ? 'updatedFrom' then 'q.updated_at >= ($2 ->> ''updatedFrom'')::timestamptz' end,
    -- No row is changed before it is made (an hour covers transactions that overlap): the walk through the newest rows begins there and not today.
    case when p_filter ? 'updatedTo' then 'q.updated_at < ($2 ->> ''updatedTo'')::timestamptz and q.created_at < ($2 ->> ''updatedTo'')::timestamptz + interval ''1 hour''' end,
    case when (p_filter ->> 'minAttempts')::int > 0 then 'q.attempt_count >= ($2 ->> ''minAttempts'')::int' end,
    case when (p_filter ->> 'stuck')::boolean then 'q.status = ''PROCESSING'' and q.claimed_at < $3 - private.stuck_after()' end,
    case when (p_filter ->> 'waitingForDelay')::boolean then 'q.status in (''QUEUED'', ''RETRY'') and greatest(q.not_before, q.next_retry_at) > $3' end,
    case when p_filter ? 'q' then 'q.id = any ($4)' end);
end
$$;

-- matching_rows: the rows of a site that match a filter, in order, after a place in that order.
--   Takes    p_after_at and p_after_id: the last row already seen, or null. The order is created_at, or updated_at when the filter's sort says so.
create function private.matching_rows(p_site_id uuid, p_filter jsonb, p_after_at timestamptz, p_after_id uuid, p_limit int)
returns setof public.offline_conversion_queue
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_column text := case p_filter ->> 'sort' when 'updated' then 'updated_at' else 'created_at' end;
  v_conditions text := private.queue_conditions(p_filter);
  -- Each index holds closed rows, or the status before the order: without a status, each state is read by itself and the heads are merged.
  v_states text[] := case when p_filter ? 'status' then array[p_filter ->> 'status']
    when p_filter ?| '{errorCode,errorCategory}' then '{QUEUED,RETRY,PROCESSING,FAILED}'   -- a completed row has no error
    else '{QUEUED,RETRY,PROCESSING,FAILED,COMPLETED}' end;
  v_branch text;
  v_found uuid[];
begin
  -- No index leads with the provider: a site has one, and a name that nobody has must not make it read every row.
  if p_filter ? 'provider' and not exists (select from private.queue_totals(array[p_site_id]) t where t.provider_key = p_filter ->> 'provider') then
    return;
  end if;
  if p_filter ? 'q' then
    v_found := private.search_queue(p_site_id, p_filter ->> 'q');
  end if;
  v_branch := format('(select q.* from public.offline_conversion_queue q where %s%s%%s order by q.%I desc, q.id desc limit $7)', v_conditions,
    case when p_after_id is not null then format(' and (q.%I, q.id) < ($5, $6)', v_column) end, v_column);
  return query execute case when v_states is null then format(v_branch, '') else
      (select format('select q.* from (%s) q order by q.%I desc, q.id desc limit $7', string_agg(format(v_branch, format(' and q.status = %L', x.state)), ' union all '), v_column)
       from unnest(v_states) x (state)) end
    using p_site_id, p_filter, private.current_moment(), v_found, p_after_at, p_after_id, p_limit;
end
$$;

-- A place in the order of rows, as an opaque text that fits in an address.
create function private.cursor_text(p_sort text, p_at timestamptz, p_id uuid) returns text
language sql stable set search_path = ''
as $$
  select rtrim(translate(encode(convert_to(concat_ws('|', p_sort, private.exact_time(p_at), p_id), 'UTF8'), 'base64'), E'+/\n', '-_'), '=')
$$;
create function private.cursor_parts(p_cursor text, p_sort text, out at timestamptz, out id uuid)
language plpgsql stable set search_path = ''
as $$
declare
  v_parts text[];
begin
  begin
    v_parts := string_to_array(convert_from(decode(translate(p_cursor, '-_', '+/') || repeat('=', (4 - length(p_cursor) % 4) % 4), 'base64'), 'UTF8'), '|');
    at := v_parts[2]::timestamptz;
    id := v_parts[3]::uuid;
  exception when others then
    v_parts := null;
  end;
  if p_cursor is not null and (v_parts[1] is distinct from p_sort or at is null or id is null) then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "cursor"}');
  end if;
end
$$;

-- queue_rows: a page of a site's rows.
--   Takes    p_filter: the keys of queue_conditions, and sort 'created' (default) or 'updated'. At most 1,000 rows a page.
--   Returns  {siteId, rows, nextCursor}. In the order of creation no row is skipped or comes twice, whatever moves between two pages.
--   Callers  viewers.
create function public.queue_rows(p_public_id text, p_filter jsonb default '{}', p_cursor text default null, p_limit int default 100,
  p_max_attempts int default 5) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_sort text := coalesce(p_filter ->> 'sort', 'created');
  v_limit int := least(greatest(p_limit, 1), 1000);
  v_after record;
  v_rows public.offline_conversion_queue[];
begin
  select * into v_after from private.cursor_parts(p_cursor, v_sort);
  select array_agg(m) into v_rows from private.matching_rows(v_site.id, p_filter, v_after.at, v_after.id, v_limit + 1) m;
  return jsonb_build_object('siteId', p_public_id,
    'rows', private.queue_rows_json(v_rows[1:v_limit], p_max_attempts),
    'nextCursor', case when cardinality(v_rows) > v_limit then
      private.cursor_text(v_sort, case v_sort when 'updated' then v_rows[v_limit].updated_at else v_rows[v_limit].created_at end, v_rows[v_limit].id) end);
end
$$;

-- queue_stats: the figures of a site, or of all sites of the reader.
--   Takes    p_public_id, or null for all sites that the reader is a member of.
--   Returns  {siteId, scope, totals, stuckProcessing, lastUpdatedAt, valueWaitingCents, failedRatio, oldestWaitingAt, nextDueAt, perProvider, circuit,
--            lastRun, mainCause}. Counts come from queue_totals and are exact; nothing here reads more rows than are in flight.
--   Callers  viewers.
create function public.queue_stats(p_public_id text default null) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sites uuid[] := case when p_public_id is not null then array[(private.require_site(p_public_id, 'viewer')).id]
    else array(select m.site_id from public.site_members m join public.sites s on s.id = m.site_id where m.user_id = auth.uid() and s.archived_at is null) end;
  v_answer jsonb;
begin
  with lines as materialized (select t.* from private.queue_totals(v_sites) t),
  states as (select unnest('{QUEUED,RETRY,PROCESSING,COMPLETED,FAILED}'::text[]) as status),
  providers as (select distinct l.provider_key from lines l),
  ended as (select sum(l.row_count) filter (where l.status = 'FAILED') as failed, sum(l.row_count) as all_ended from lines l
            where l.status = 'COMPLETED' or (l.status = 'FAILED' and l.category <> 'DETERMINISTIC_SKIP'))
  select jsonb_build_object(
    'siteId', p_public_id, 'scope', case when p_public_id is null then 'multi' else 'site' end,
    'totals', (select jsonb_object_agg(s.status, coalesce((select sum(l.row_count) from lines l where l.status = s.status), 0)) from states s),
    'valueWaitingCents', (select coalesce(jsonb_object_agg(w.currency, w.v), '{}') from
      (select l.currency, sum(l.value_cents) as v from lines l where l.status in ('QUEUED', 'RETRY') group by 1) w),
    'failedRatio', (select round(coalesce(e.failed, 0)::numeric / e.all_ended, 4) from ended e where e.all_ended > 0),
    'perProvider', (select coalesce(jsonb_agg(jsonb_build_object('provider', p.provider_key,
        'totals', (select jsonb_object_agg(s.status, coalesce((select sum(l.row_count) from lines l where l.status = s.status and l.provider_key = p.provider_key), 0)) from states s),
        'valueWaitingCents', (select coalesce(jsonb_object_agg(w.currency, w.v), '{}') from
          (select l.currency, sum(l.value_cents) as v from lines l where l.provider_key = p.provider_key and l.status in ('QUEUED', 'RETRY') group by 1) w),
        'blocked', null, 'circuit', null) order by p.provider_key), '[]') from providers p),
    'circuit', null,
    'lastRun', (select jsonb_build_object('at', r.at, 'ok', r.error_code is null, 'kind', r.kind, 'errorCode', r.error_code) from unnest(v_sites) site (id)
      cross join lateral (select x.* from public.script_runs x where x.site_id = site.id order by x.at desc, x.id desc limit 1) r order by r.at desc limit 1),
    'mainCause', (select jsonb_build_object('code', c.code, 'category', c.category, 'count', c.n) from
      (select l.code, l.category, sum(l.row_count) as n from lines l where l.status = 'FAILED' and l.category <> 'DETERMINISTIC_SKIP' group by 1, 2 order by 3 desc, 1 limit 1) c))
    into v_answer;
  return v_answer || (select jsonb_build_object('stuckProcessing', coalesce(sum(x.stuck), 0), 'lastUpdatedAt', max(x.updated_at),
      'oldestWaitingAt', min(x.oldest), 'nextDueAt', min(x.due))
    from unnest(v_sites) site (id), lateral (select
      (select count(*) from public.offline_conversion_queue q where q.site_id = site.id and q.status = 'PROCESSING' and q.claimed_at < v_now - private.stuck_after()) as stuck,
      (select q.updated_at from public.offline_conversion_queue q where q.site_id = site.id order by q.updated_at desc, q.id desc limit 1) as updated_at,
      least((select q.created_at from public.offline_conversion_queue q where q.site_id = site.id and q.status = 'QUEUED' order by q.created_at limit 1),
            (select q.created_at from public.offline_conversion_queue q where q.site_id = site.id and q.status = 'RETRY' order by q.created_at limit 1)) as oldest,
      (select greatest(q.not_before, q.next_retry_at) from public.offline_conversion_queue q
         where q.site_id = site.id and q.status in ('QUEUED', 'RETRY') order by greatest(q.not_before, q.next_retry_at) limit 1) as due) x);
end
$$;

-- queue_row_story: everything that is known of one row: the seal, the ledger, each move with who and why, each attempt, what was sent and its verdict.
--   Refuses  404 for a row of another site.
--   Callers  viewers.
create function public.queue_row_story(p_public_id text, p_id uuid, p_max_attempts int default 5) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_row public.offline_conversion_queue;
  v_sale public.sales;
  v_sent public.provider_dispatches;
  v_click text;
begin
  select q.* into v_row from public.offline_conversion_queue q where q.id = p_id and q.site_id = v_site.id;
  if v_row.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  select s.* into v_sale from public.sales s where s.id = v_row.sale_id;
  select d.* into v_sent from public.provider_dispatches d where d.sale_id = v_row.sale_id and d.queue_id = v_row.id order by d.dispatched_at desc, d.id desc limit 1;
  v_click := coalesce(v_sale.gclid, v_sale.gbraid, v_sale.wbraid);
  return jsonb_build_object('siteId', p_public_id, 'row', private.queue_rows_json(array[v_row], p_max_attempts) -> 0,
    'seal', (select jsonb_build_object('at', r.created_at, 'by', private.actor_json(r.actor_kind, r.actor_id), 'amountCents', r.amount_cents, 'currency', r.currency,
               'valueSource', r.value_source, 'note', v_sale.note)
             from public.revenue_snapshots r where r.sale_id = v_sale.id and r.kind in ('SEAL', 'RESTORE') order by r.sequence desc limit 1),
    'ledger', (select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'kind', r.kind, 'amountCents', r.amount_cents, 'deltaCents', r.delta_cents, 'currency', r.currency,
                 'valueSource', r.value_source, 'by', private.actor_json(r.actor_kind, r.actor_id), 'at', r.created_at) order by r.sequence), '[]')
               from public.revenue_snapshots r where r.sale_id = v_sale.id),
    'dispatches', (select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'kind', d.kind, 'transport', d.transport, 'orderId', d.order_id, 'valueCents', d.value_cents,
                     'currency', d.currency, 'providerRequestId', d.provider_request_id, 'at', d.dispatched_at, 'verdict', d.verdict, 'verdictReason', d.verdict_reason,
                     'verdictAt', d.verdict_at) order by d.dispatched_at, d.id), '[]')
                   from public.provider_dispatches d where d.sale_id = v_row.sale_id and d.queue_id = v_row.id),
    'payload', jsonb_build_object('sent', v_sent.id is not null, 'orderId', v_row.order_id, 'conversionName', private.conversion_name(v_site, 'seal'),
      'conversionTime', v_row.conversion_time, 'valueCents', coalesce(v_sent.value_cents, v_row.value_cents), 'currency', coalesce(v_sent.currency, v_row.currency),
      'clickKind', case when v_sale.gclid is not null then 'gclid' when v_sale.gbraid is not null then 'gbraid' when v_sale.wbraid is not null then 'wbraid' end,
      'clickId', private.masked_click(v_click)),
    'proofs', (select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'contract', p.contract, 'from', p.from_state, 'to', p.to_state, 'at', p.occurred_at)
                 order by p.occurred_at, p.id), '[]')
               from (select x.* from public.transition_proofs x where x.entity_id in (v_row.id, v_row.sale_id, v_row.call_id) and x.site_id = v_site.id
                     order by x.occurred_at desc, x.id desc limit 200) p),
    'siblings', private.queue_rows_json(array(select q from public.offline_conversion_queue q where q.sale_id = v_row.sale_id and q.id <> v_row.id order by q.created_at, q.id),
      p_max_attempts),
    'allowedActions', (select coalesce(jsonb_agg(a.action), '[]') from unnest('{RETRY_SELECTED,RESET_TO_QUEUED,MARK_FAILED}'::text[]) a (action)
                       where v_row.status = any (private.action_statuses(a.action))
                         and private.moves_from('conversion', v_row.status) ? case a.action when 'MARK_FAILED' then 'FAILED' else 'QUEUED' end))
    || private.queue_row_moves(v_row.id);
end
$$;

-- queue_row_moves: the newest 500 moves of a row, and the attempts among them: each claim with the move that ended it.
create function private.queue_row_moves(p_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  with moves as (
    select t.*, lead(t.to_status) over w as next_status, lead(t.created_at) over w as next_at, lead(t.provider_error_code) over w as next_code
    from (select x.* from public.queue_transitions x where x.queue_id = p_id order by x.id desc limit 500) t window w as (order by t.id))
  select jsonb_build_object(
    'transitions', coalesce(jsonb_agg(jsonb_build_object('from', m.from_status, 'to', m.to_status, 'reason', m.reason, 'by', private.actor_json(m.actor_kind, m.actor_id),
      'attemptCount', m.attempt_count, 'errorCode', m.provider_error_code, 'at', m.created_at,
      'note', (select n.note from public.transition_proofs p join private.proof_notes n on n.proof_id = p.id
               where p.entity_id = p_id and p.occurred_at = m.created_at and p.to_state = m.to_status limit 1)) order by m.id), '[]'),
    'attempts', coalesce(jsonb_agg(jsonb_build_object('number', m.attempt_count, 'by', private.actor_json(m.actor_kind, m.actor_id), 'startedAt', m.created_at, 'endedAt', m.next_at,
      'durationMs', round(extract(epoch from m.next_at - m.created_at) * 1000), 'outcome', m.next_status, 'errorCode', m.next_code) order by m.id)
      filter (where m.to_status = 'PROCESSING' and m.from_status <> 'PROCESSING'), '[]'))
  from moves m
$$;

-- outcomes_since: what became of a site's rows, by quarter of an hour. Kept as counts, so that ninety busy days are some thousand lines.
create function private.outcomes_since(p_site_id uuid, p_from timestamptz) returns table (quarter timestamptz, outcome text, code text, row_count bigint)
language sql stable security definer set search_path = ''
as $$
  select o.quarter, o.outcome, o.code, o.row_count from private.queue_outcomes o where o.site_id = p_site_id and o.quarter >= p_from
  union all
  select d.quarter, d.outcome, d.code, d.row_count from private.queue_outcome_deltas d where d.site_id = p_site_id and d.quarter >= p_from
$$;

-- queue_charts: what happened to a site's rows over time.
--   Takes    p_range 24h, 7d (by the hour), 30d or 90d (by the day of the site's time zone). Latency is over the newest 2,000 deliveries of the range.
--   Returns  {siteId, range, from, to, bucket, activity, latency, causes, failedNow}.
--   Callers  viewers.
create function public.queue_charts(p_public_id text, p_range text default '7d') returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_now timestamptz := private.current_moment();
  v_bucket text := case when p_range in ('24h', '7d') then 'hour' else 'day' end;
  v_from timestamptz;
  v_activity jsonb;
  v_causes jsonb;
begin
  if p_range is null or p_range not in ('24h', '7d', '30d', '90d') then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "range"}');
  end if;
  v_from := date_trunc(v_bucket, v_now - p_range::interval, v_site.timezone);
  with outcomes as materialized (select o.* from private.outcomes_since(v_site.id, v_from) o),
  counted as (
    select date_trunc(v_bucket, o.quarter, v_site.timezone) as at, sum(o.n) filter (where o.outcome = 'COMPLETED') as delivered,
      sum(o.n) filter (where o.outcome = 'FAILED') as failed, sum(o.n) filter (where o.outcome = 'RETRY') as retried
    from (select x.quarter, x.outcome, sum(x.row_count) as n from outcomes x group by 1, 2) o group by 1)
  select
    (select jsonb_agg(jsonb_build_object('at', b.at, 'delivered', coalesce(c.delivered, 0), 'failed', coalesce(c.failed, 0), 'retried', coalesce(c.retried, 0)) order by b.at)
     from generate_series(v_from, v_now, ('1 ' || v_bucket)::interval, v_site.timezone) b (at) left join counted c on c.at = b.at),
    (select coalesce(jsonb_agg(jsonb_build_object('code', c.code, 'category', null, 'count', c.n) order by c.n desc, c.code), '[]')
     from (select o.code, sum(o.row_count) as n from outcomes o where o.outcome = 'FAILED' group by 1 order by 2 desc, 1 limit 20) c)
    into v_activity, v_causes;
  return jsonb_build_object('siteId', p_public_id, 'range', p_range, 'from', v_from, 'to', v_now, 'bucket', v_bucket, 'activity', v_activity, 'causes', v_causes,
    'latency', (
      select jsonb_build_object('sample', count(*), 'p50Seconds', percentile_disc(0.5) within group (order by l.seconds), 'p90Seconds', percentile_disc(0.9) within group (order by l.seconds),
        'p95Seconds', percentile_disc(0.95) within group (order by l.seconds), 'p99Seconds', percentile_disc(0.99) within group (order by l.seconds))
      from (select round(extract(epoch from q.uploaded_at - q.created_at)) as seconds from public.offline_conversion_queue q
            where q.site_id = v_site.id and q.provider_key = 'google_ads' and q.uploaded_at >= v_from and q.kind = 'CONVERSION' order by q.uploaded_at desc limit 2000) l),
    'failedNow', (
      select coalesce(jsonb_agg(jsonb_build_object('code', f.code, 'category', f.category, 'count', f.n, 'valueCents', f.v) order by f.n desc, f.code), '[]')
      from (select c.code, c.category, sum(c.n) as n, jsonb_object_agg(c.currency, c.v) as v
            from (select t.code, t.category, t.currency, sum(t.row_count) as n, sum(t.value_cents) as v from private.queue_totals(array[v_site.id]) t
                  where t.status = 'FAILED' group by 1, 2, 3) c group by 1, 2 order by 3 desc, 1 limit 20) f));
end
$$;

grant execute on function public.queue_rows(text, jsonb, text, int, int), public.queue_stats(text), public.queue_row_story(text, uuid, int), public.queue_charts(text, text)
to authenticated;
