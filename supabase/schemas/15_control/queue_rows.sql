-- OCI Control's table: rows by any filter, page by page.

-- cursor_text: a place in the order of rows, as an opaque text that fits in an address.
create function private.cursor_text(p_sort text, p_at text, p_id uuid) returns text
language sql immutable set search_path = ''
as $$
  select rtrim(translate(encode(convert_to(
    concat_ws('|', p_sort, p_at, p_id), 'UTF8'), 'base64'), E'+/\n', '-_'), '=')
$$;

-- place_of: where a row stands in an order, as a text that its column reads.
create function private.place_of(p_row public.offline_conversion_queue, p_sort text) returns text
language sql stable set search_path = ''
as $$
  select case p_sort
    when 'value' then p_row.value_cents::text
    when 'updated' then private.exact_time(greatest(p_row.updated_at, p_row.claimed_at))
    else private.exact_time(p_row.created_at) end
$$;

-- cursor_parts: that text, read.
--   Refuses  400 VALIDATION_FAILED for anything else, and for a place in another order.
create function private.cursor_parts(p_cursor text, p_sort text, out at text, out id uuid)
language plpgsql stable set search_path = ''
as $$
declare
  v_parts text[];
begin
  begin
    v_parts := string_to_array(convert_from(decode(
      translate(p_cursor, '-_', '+/') || repeat('=', (4 - length(p_cursor) % 4) % 4),
      'base64'), 'UTF8'), '|');
    at := v_parts[2];
    id := v_parts[3]::uuid;
    perform case p_sort when 'value' then at::bigint::text else at::timestamptz::text end;
  exception when others then
    v_parts := null;
  end;
  if p_cursor is not null and (v_parts[1] is distinct from p_sort or at is null or id is null) then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "cursor"}');
  end if;
end
$$;

-- queue_rows: a page of a site's rows.
--   Takes    p_max_attempts, without a default: a reader that left it out would show another
--            number of attempts than the claims allow.
--            p_filter: the keys of queue_conditions, and sort 'created' (default), 'updated' or
--            'value', each with the largest first. At most 1,000 rows a page.
--   Returns  {siteId, rows, nextCursor}. In the order of creation no row is skipped or comes twice,
--            whatever moves between two pages.
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
  select array_agg(m) into v_rows
    from private.matching_rows(v_site.id, p_filter, v_after.at, v_after.id, v_limit + 1) m;
  return jsonb_build_object(
    'siteId', p_public_id,
    'rows', private.queue_rows_json(v_rows[1:v_limit], p_max_attempts),
    'nextCursor', case when cardinality(v_rows) > v_limit then private.cursor_text(
      v_sort, private.place_of(v_rows[v_limit], v_sort), v_rows[v_limit].id) end);
end
$$;
grant execute on function public.queue_rows(text, int, jsonb, text, int) to authenticated;
