-- OCI Control's table: rows by any filter, page by page.

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

-- One index per order and per filter that can be rare, each with the status before the order, as rows are read. None holds what is away, which is
-- found by its claim: a claim takes its rows out of all of them and writes into none.
create index queue_rows_by_status on public.offline_conversion_queue (site_id, status, created_at desc, id desc)
  where status in ('QUEUED', 'RETRY', 'COMPLETED', 'FAILED');
create index queue_rows_by_change on public.offline_conversion_queue (site_id, status, updated_at desc, id desc)
  where status in ('QUEUED', 'RETRY', 'COMPLETED', 'FAILED');
create index queue_rows_by_channel on public.offline_conversion_queue (site_id, channel, status, created_at desc, id desc)
  where status in ('QUEUED', 'RETRY', 'COMPLETED', 'FAILED');
create index queue_rows_by_value on public.offline_conversion_queue (site_id, status, value_cents)
  where status in ('QUEUED', 'RETRY', 'COMPLETED', 'FAILED');
create index queue_rows_by_error_code on public.offline_conversion_queue (site_id, provider_error_code, status, created_at desc, id desc)
  where provider_error_code is not null;
create index queue_rows_by_error_category on public.offline_conversion_queue (site_id, provider_error_category, status, created_at desc, id desc)
  where provider_error_category is not null;
create index queue_adjustments on public.offline_conversion_queue (site_id, kind, created_at desc, id desc) where kind <> 'CONVERSION';
create index corrections_that_wait on public.offline_conversion_queue (site_id) where kind <> 'CONVERSION' and status in ('QUEUED', 'RETRY');   -- few: people make them
create index queue_rows_tried_again on public.offline_conversion_queue (site_id, status, attempt_count) where attempt_count > 1;
create index waiting_rows_by_due_time on public.offline_conversion_queue
  (site_id, status, greatest(not_before, next_retry_at)) where status in ('QUEUED', 'RETRY');
create index dispatches_not_confirmed on public.provider_dispatches
  (site_id, verdict, dispatched_at desc) where verdict in ('REJECTED', 'DUPLICATE', 'UNKNOWN');
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

-- waits_for_person: an adjustment that neither the site's script nor an API makes. Nobody can say
-- whether somebody made it in Google Ads already, so it is not sent unless an operator says so.
create function private.waits_for_person(
  p_row public.offline_conversion_queue, p_sync_method text
) returns boolean
language sql immutable set search_path = ''
as $$
  select p_row.kind <> 'CONVERSION' and p_row.status in ('QUEUED', 'RETRY')
    and (p_sync_method = 'script' or p_row.by_hand_reason is not null)
$$;

-- api_never_adjusts: reasons that another try of the API cannot change.
create function private.api_never_adjusts(p_by_hand_reason text) returns boolean
language sql immutable set search_path = ''
as $$ select coalesce(p_by_hand_reason in ('WBRAID_ONLY', 'OTHER_ACCOUNT'), false) $$;

create function private.actor_json(p_kind text, p_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('kind', p_kind, 'name', case p_kind
    when 'user' then (select private.display_name(u) from auth.users u where u.id = p_id)
    when 'api_key' then (select k.name from public.site_api_keys k where k.id = p_id) end)
$$;

-- action_obstacle: why no API may be given a row because of its conversion action, as
-- sendable_queue decides it; null when that is well. `at` is since when Google refuses the action.
create function private.action_obstacle(
  p_row public.offline_conversion_queue, out code text, out at timestamptz
)
language sql stable security definer set search_path = ''
as $$
  select case
      when a.blocked_at is not null then a.blocked_code
      when p_row.conversion_action is not null then case
        when not n.has_lines then 'MISSING'
        when private.is_elsewhere(p_row.site_id, p_row.conversion_action) then 'OTHER_ACCOUNT' end
      when a.site_id is null then 'MISSING'
      when a.google_name <> a.conversion_name and p_row.kind = 'CONVERSION'
        and (p_row.may_have_arrived or exists (select from public.provider_dispatches d
          where d.sale_id = p_row.sale_id and d.verdict is distinct from 'REJECTED'))
        then 'NAME_DIFFERS' end,
    a.blocked_at
  from (select private.conversion_name(s, 'seal') as seal,
          exists (select from public.provider_conversion_actions x where x.site_id = s.id
            and x.provider_key = p_row.provider_key) as has_lines
        from public.sites s where s.id = p_row.site_id) n
    left join lateral (
      select x.* from public.provider_conversion_actions x
      where x.site_id = p_row.site_id and x.provider_key = p_row.provider_key
        and case when p_row.conversion_action is not null then x.action = p_row.conversion_action
          else x.conversion_name = coalesce(p_row.conversion_name, n.seal)
            or x.conversion_name = n.seal and p_row.kind <> 'CONVERSION' end
      order by x.conversion_name = coalesce(p_row.conversion_name, n.seal) desc,
        x.blocked_at nulls last limit 1) a on true
$$;

-- queue_rows_json: rows as the screen shows them, in the order given. One query for a page: a function call per row took five times as long.
--   waitsFor   of a row that waits for something other than its time: RETRACTION (heldBy names the
--              earlier sale and its row), VERDICT, DAY (until waitsUntil), ACTION: the site has no
--              usable conversion action for the row's name, one that Google calls otherwise, or
--              one of another account than the row left for; or QUOTA: Google asked the site to wait
--              (until waitsUntil).
--   takeBack   of a row that Google has, of a sale that was cancelled since: DONE when the retraction
--              was sent, else PENDING.
--   attemptError…  what the last real attempt met; the provider's fields may be a deferral since.
create function private.queue_rows_json(
  p_rows public.offline_conversion_queue[], p_max_attempts int
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object('id', q.id, 'callId', q.call_id, 'saleId', q.sale_id, 'provider', q.provider_key, 'kind', q.kind, 'status', q.status,
    'orderId', q.order_id,
    -- A correction is made with what the sale is worth when it is made.
    'valueCents', case when q.kind = 'RESTATE' and q.status in ('QUEUED', 'RETRY')
      and s.status = 'CONFIRMED' then s.amount_cents else q.value_cents end,
    'currency', q.currency, 'conversionTime', q.conversion_time, 'channel', q.channel,
    'clickKind', case when s.gclid is not null then 'gclid' when s.wbraid is not null then 'wbraid' when s.gbraid is not null then 'gbraid' end,
    'phoneEnding', (select nullif(right(regexp_replace(c.phone, '\D', '', 'g'), 4), '') from public.calls c where c.id = q.call_id),
    'attemptCount', q.attempt_count, 'attemptsLeft', greatest(0, p_max_attempts - (q.attempt_count - q.attempt_base)), 'notBefore', q.not_before,
    'nextRetryAt', q.next_retry_at, 'claimedAt', q.claimed_at, 'stuck', q.status = 'PROCESSING' and q.claimed_at < n.stuck_before,
    'lastError', q.last_error, 'providerErrorCode', q.provider_error_code, 'providerErrorCategory', q.provider_error_category,
    'attemptError', q.attempt_error, 'attemptErrorCode', q.attempt_error_code,
    'attemptErrorCategory', q.attempt_error_category, 'freeWaits', q.free_waits,
    'byHandReason', q.by_hand_reason, 'heldBy', h.held_by,
    'waitsFor', case when h.held_by is not null then 'RETRACTION'
      when b.waits_for is not null then b.waits_for
      when q.status in ('QUEUED', 'RETRY') and q.by_hand_reason is null
        and t.oci_sync_method = 'api'
        and (private.action_obstacle(p_rows[i])).code is not null then 'ACTION'
      when u.quota_until is not null then 'QUOTA' end,
    'waitsUntil', case when b.waits_for = 'DAY' then greatest(b.waits_until, u.quota_until)
      when b.waits_for is null and h.held_by is null then u.quota_until end,
    'uploadedAt', q.uploaded_at, 'providerRequestId', q.provider_request_id,
    'transport', d.transport, 'verdict', d.verdict, 'verdictReason', d.verdict_reason,
    'verdictAt', d.verdict_at,
    'takeBack', case when q.status = 'COMPLETED' and q.kind <> 'RETRACT' and s.status = 'CANCELED'
      then case when exists (select from public.provider_dispatches x
          where x.sale_id = q.sale_id and x.kind = 'RETRACT' and x.verdict is distinct from 'REJECTED')
        then 'DONE' else 'PENDING' end end,
    'createdAt', q.created_at, 'updatedAt', q.updated_at) order by i), '[]')
  from (select private.current_moment() - private.stuck_after() as stuck_before offset 0) n,
    generate_subscripts(p_rows, 1) i cross join lateral (select (p_rows[i]).*) q left join public.sales s on s.id = q.sale_id
    left join lateral (
      select x.transport, x.verdict, x.verdict_reason, x.verdict_at
      from public.provider_dispatches x where x.sale_id = q.sale_id and x.queue_id = q.id
      order by x.dispatched_at desc, x.id desc limit 1) d on true
    left join public.sites t on t.id = q.site_id
    left join lateral (
      select jsonb_build_object('saleId', x.by_sale_id, 'rowId', x.by_row_id) as held_by
      from private.held_sales x where x.sale_id = q.sale_id and x.provider_key = q.provider_key
      order by x.by_row_id desc limit 1) h
      on q.kind = 'CONVERSION' and q.status in ('QUEUED', 'RETRY')
    left join lateral (
      select x.waits_for, x.waits_until from private.adjustment_bases x
      where x.sale_id = q.sale_id and x.provider_key = q.provider_key) b
      on q.kind <> 'CONVERSION' and q.status in ('QUEUED', 'RETRY') and q.by_hand_reason is null
        and t.oci_sync_method = 'api'
    left join lateral (
      select greatest(x.quota_until, q.next_retry_at) as quota_until
      from public.provider_health_state x
      where x.site_id = q.site_id and x.provider_key = q.provider_key
        and x.quota_until > private.current_moment()) u
      on q.status in ('QUEUED', 'RETRY') and q.by_hand_reason is null
        and t.oci_sync_method = 'api'
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

-- sent_condition: of rows that were sent: what Google says of them, and on which days they were sent.
-- Days are the site's own, both included, as in delivery_days.
create function private.sent_condition(p_filter jsonb) returns text
language sql immutable set search_path = ''
as $$
  select concat_ws(' and ', 'exists (select from public.provider_dispatches d
      where d.site_id = $1 and d.sale_id = q.sale_id and d.queue_id = q.id',
    case when p_filter ? 'verdict' then 'd.verdict = $2 ->> ''verdict''' end,
    case when p_filter ? 'sentFrom' then 'd.dispatched_at >= ($2 ->> ''sentFrom'')::date::timestamp
      at time zone (select s.timezone from public.sites s where s.id = $1)' end,
    case when p_filter ? 'sentTo' then 'd.dispatched_at < (($2 ->> ''sentTo'')::date + 1)::timestamp
      at time zone (select s.timezone from public.sites s where s.id = $1)' end) || ')'
$$;

-- queue_conditions: a filter as SQL text, from a closed set. Values are never part of the text: $1 site, $2 filter, $3 now, $4 found ids.
create function private.queue_conditions(p_filter jsonb) returns text
language plpgsql immutable set search_path = ''
as $$
declare
  v_unknown text;
begin
  select k into v_unknown from jsonb_object_keys(p_filter) k where k not in ('status', 'errorCategory', 'errorCode', 'provider', 'channel', 'kind',
    'minValue', 'maxValue', 'createdFrom', 'createdTo', 'updatedFrom', 'updatedTo', 'minAttempts', 'stuck', 'waitingForDelay', 'q', 'sort',
    'verdict', 'sentFrom', 'sentTo') limit 1;
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
    case when p_filter ?| '{verdict,sentFrom,sentTo}' then private.sent_condition(p_filter) end,
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
  -- Each index has the status before the order: without one, each state is read by itself and the heads are merged.
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
--   Takes    p_max_attempts, without a default: a reader that forgot it would show another
--            number of tries than the claims allow.
--            p_filter: the keys of queue_conditions, and sort 'created' (default) or 'updated'. At most 1,000 rows a page.
--   Returns  {siteId, rows, nextCursor}. In the order of creation no row is skipped or comes twice, whatever moves between two pages.
--   Callers  viewers.
create function public.queue_rows(
  p_public_id text, p_max_attempts int, p_filter jsonb default '{}', p_cursor text default null,
  p_limit int default 100
) returns jsonb
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

grant execute on function public.queue_rows(text, int, jsonb, text, int) to authenticated;
