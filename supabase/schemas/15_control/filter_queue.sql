-- search_queue: the rows that a search means: a row's or an order's id, a click id, or the last
-- digits of a phone number.
create function private.search_queue(p_site_id uuid, p_text text) returns uuid[]
language plpgsql stable security definer set search_path = ''
as $$
declare
  -- Viewers see numbers masked: with more digits they could find the hidden ones by trying.
  v_digits text := right(regexp_replace(p_text, '\D', '', 'g'),
    case when public.has_site_role(p_site_id, 'operator') then 15 else 4 end);
  v_calls uuid[];
  v_sales uuid[];
begin
  if p_text ~* '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then
    return array[p_text::uuid];
  end if;
  if p_text ~ '^[0-9+() .•-]+$' then
    if length(v_digits) < 4 then
      return '{}';   -- three digits match too many
    end if;
    -- Text, so that the prefix is a constant to the planner and the index is used; calls first,
    -- because a join would guess how many there are.
    execute format('select array_agg(t.id) from (select c.id from public.calls c
        where c.site_id = $1 and c.phone is not null
          and reverse(regexp_replace(c.phone, ''\D'', '''', ''g'')) like %L limit 1000) t',
        reverse(v_digits) || '%')
      into v_calls using p_site_id;
    select array_agg(s.id) into v_sales from public.sales s
      where s.call_id = any (v_calls) and s.site_id = p_site_id;
  else
    select array_agg(t.id) into v_sales from (
      select s.id from public.sales s where s.order_id = p_text and s.site_id = p_site_id
      union select s.id from public.sales s where s.site_id = p_site_id and s.gclid = p_text
      union select s.id from public.sales s where s.site_id = p_site_id and s.wbraid = p_text
      union select s.id from public.sales s where s.site_id = p_site_id and s.gbraid = p_text
      limit 1000) t;
  end if;
  return coalesce((select array_agg(q.id) from public.offline_conversion_queue q
    where q.sale_id = any (v_sales)), '{}');
end
$$;

-- sent_condition: of rows that were sent: what Google says of them, and on which days they were
-- sent. Days are the site's own, both included, as in delivery_days. A row that is not delivered
-- may be assumed to have arrived.
create function private.sent_condition(p_filter jsonb, p_status text) returns text
language sql immutable set search_path = ''
as $$
  select case when p_status = 'COMPLETED' then format(c.sent, 'q', 'uploaded_at')
    else 'exists (select from private.assumed_dispatches d where d.queue_id = q.id and '
      || format(c.sent, 'd', 'dispatched_at') || ')' end
  from (select concat_ws(' and ', '%1$s.provider_key = ''google_ads''',   -- the index has it
    case when p_filter ? 'verdict' then '%1$s.verdict = $2 ->> ''verdict''' end,
    case when p_filter ? 'sentFrom' then '%1$s.%2$s >= ($2 ->> ''sentFrom'')::date::timestamp
      at time zone (select s.timezone from public.sites s where s.id = $1)' end,
    case when p_filter ? 'sentTo' then '%1$s.%2$s < (($2 ->> ''sentTo'')::date + 1)::timestamp
      at time zone (select s.timezone from public.sites s where s.id = $1)' end) as sent) c
$$;

-- filter_conditions: what each key of a filter means in SQL. Values are never part of the text: $1
-- site, $2 filter, $3 now, $4 found ids. An empty text: the key is no condition of its own.
create function private.filter_conditions() returns jsonb
language sql immutable set search_path = ''
as $$
  select jsonb_build_object(
    'status', 'q.status = $2 ->> ''status''',
    'errorCategory', 'q.provider_error_category = $2 ->> ''errorCategory''',
    'errorCode', 'q.provider_error_code = $2 ->> ''errorCode''',
    'provider', 'q.provider_key = $2 ->> ''provider''',
    'channel', 'q.channel = $2 ->> ''channel''',
    'kind', 'q.kind = $2 ->> ''kind''',
    'minValue', 'q.value_cents >= ($2 ->> ''minValue'')::bigint',
    'maxValue', 'q.value_cents <= ($2 ->> ''maxValue'')::bigint',
    'createdFrom', 'q.created_at >= ($2 ->> ''createdFrom'')::timestamptz',
    'createdTo', 'q.created_at < ($2 ->> ''createdTo'')::timestamptz',
    'updatedFrom', 'q.updated_at >= ($2 ->> ''updatedFrom'')::timestamptz',
    -- No row is changed before it is made (an hour covers transactions that overlap), so the walk
    -- through the rows can begin there instead of at the newest.
    'updatedTo', 'q.updated_at < ($2 ->> ''updatedTo'')::timestamptz
      and q.created_at < ($2 ->> ''updatedTo'')::timestamptz + interval ''1 hour''',
    'stuck', 'q.status = ''PROCESSING'' and q.claimed_at < $3 - private.stuck_after()',
    'waitingForDelay', 'q.status = any (private.waiting_states())
      and greatest(q.not_before, q.next_retry_at) > $3',
    'waiting', 'q.status = any (private.waiting_states())',
    -- Both ways: true shows what was skipped on purpose alone, false everything else.
    'notSent', '(q.status = ''FAILED'' and q.provider_error_category = ''DETERMINISTIC_SKIP'')
      = ($2 ->> ''notSent'')::boolean',
    'q', 'q.id = any ($4)',
    'minAttempts', '', 'verdict', '', 'sentFrom', '', 'sentTo', '', 'sort', '')
$$;

-- queue_conditions: a filter as SQL text, from a closed set, for rows of one status.
--   Refuses  400 VALIDATION_FAILED for an unknown key.
create function private.queue_conditions(p_filter jsonb, p_status text) returns text
language plpgsql immutable set search_path = ''
as $$
declare
  v_known jsonb := private.filter_conditions();
  v_unknown text := (
    select k from jsonb_object_keys(p_filter) k where not v_known ? k limit 1);
begin
  if v_unknown is not null then
    perform private.fail(400, 'VALIDATION_FAILED', jsonb_build_object('field', v_unknown));
  end if;
  return concat_ws(' and ', 'q.site_id = $1',
    (select string_agg(replace(c.value, 'q.updated_at', private.changed_at(p_status)), ' and ')
     from jsonb_each_text(v_known) c
     where p_filter ? c.key and c.value <> '' and case c.key
       when 'stuck' then (p_filter ->> c.key)::boolean
       when 'waitingForDelay' then (p_filter ->> c.key)::boolean
       when 'waiting' then (p_filter ->> c.key)::boolean
       else true end),
    case when (p_filter ->> 'minAttempts')::int > 0   -- each as its index has it
      then format('q.%I >= ($2 ->> ''minAttempts'')::int', case
        when p_status in ('PROCESSING', 'COMPLETED') then 'attempt_count' else 'tries' end) end,
    case when p_filter ?| '{verdict,sentFrom,sentTo}'
      then private.sent_condition(p_filter, p_status) end);
end
$$;

-- rows_in_flight: the rows of a site that are in flight. A claim changed them last, and left
-- updated_at and next_retry_at: see changed_at.
create function private.rows_in_flight(p_site_id uuid)
returns setof public.offline_conversion_queue
language sql stable security definer set search_path = ''
as $$
  select q.* from private.queue_leases l
    cross join lateral unnest(l.row_ids) i (id)
    join public.offline_conversion_queue q on q.id = i.id and q.claim_token = l.token
      and q.state in ('QUEUED', 'RETRY')
  where l.site_id = p_site_id
$$;

-- changed_at: when rows of a status were changed, in SQL. Only rows in flight pay for the claim:
-- the others have an index of updated_at.
create function private.changed_at(p_status text) returns text
language sql immutable set search_path = ''
as $$
  select case p_status when 'PROCESSING' then 'greatest(q.updated_at, q.claimed_at)'
    else 'q.updated_at' end
$$;

-- matching_rows: the rows of a site that match a filter, in order, after a place in that order.
--   Takes    p_after_at and p_after_id: place_of the last row already seen and its id, or null. The
--            order is created_at, or updated_at or value_cents when the filter's sort says so.
create function private.matching_rows(
  p_site_id uuid, p_filter jsonb, p_after_at text, p_after_id uuid, p_limit int
) returns setof public.offline_conversion_queue
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_sort text := coalesce(p_filter ->> 'sort', 'created');
  -- Each index has the state before the order: each status is read by itself and the heads are
  -- merged. Only those that the filter can mean: a completed row has no error.
  v_states text[] := array(
    select s from unnest(private.queue_states()) s
    where s = coalesce(p_filter ->> 'status', s)
      and ((p_filter ->> 'notSent')::boolean is not true or s = 'FAILED')
      and ((p_filter ->> 'stuck')::boolean is not true or s = 'PROCESSING')
      and not (s = 'COMPLETED' and p_filter ?| '{errorCode,errorCategory}')
      and (s = any (private.waiting_states()) or (p_filter ->> 'waiting')::boolean is not true
        and (p_filter ->> 'waitingForDelay')::boolean is not true));
  v_found uuid[];
begin
  -- No index leads with the provider: a site has one, and an unknown name must not read every row.
  if p_filter ? 'provider' and not exists (
      select from private.queue_totals(array[p_site_id]) t
      where t.provider_key = p_filter ->> 'provider') then
    return;
  end if;
  if cardinality(v_states) = 0 then
    perform private.queue_conditions(p_filter, 'QUEUED');   -- refuses unknown keys
    return;
  end if;
  if p_filter ? 'q' then
    v_found := private.search_queue(p_site_id, p_filter ->> 'q');
  end if;
  return query execute (
      select format('select q.* from (%s) q order by %s desc, q.id desc limit $7',
        string_agg(format(
            '(select q.* from %s q where %s%s%s order by %s desc, q.id desc limit $7)',
            case x.status when 'PROCESSING' then 'private.rows_in_flight($1)'
              else 'public.offline_conversion_queue' end,
            private.queue_conditions(p_filter, x.status),
            case when x.status = any (private.waiting_states()) then
              format(' and q.state = %L and q.claim_token is null', x.status)
              when x.status <> 'PROCESSING' then format(' and q.state = %L', x.status) end,
            case when p_after_id is not null then format(' and (%s, q.id) < ($5::%s, $6)',
              o.place, case v_sort when 'value' then 'bigint' else 'timestamptz' end) end,
            o.place), ' union all '),
        -- Of all: in the order of change that of rows in flight, if they are among them.
        case when v_sort = 'updated' and 'PROCESSING' = any (v_states)
          then private.changed_at('PROCESSING') else max(o.place) end)
      from unnest(v_states) x (status)
        cross join lateral (select case v_sort when 'updated' then private.changed_at(x.status)
          when 'value' then 'q.value_cents' else 'q.created_at' end as place) o)
    using p_site_id, p_filter, private.current_moment(), v_found, p_after_at, p_after_id, p_limit;
end
$$;
