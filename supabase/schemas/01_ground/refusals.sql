-- The two ways a function says no.

-- fail: refuse with one of our codes. PTxxx carries the HTTP status, and both database
-- doors pass it on whole.
create function private.fail(p_status int, p_code text, p_detail jsonb default null) returns void
language plpgsql set search_path = ''
as $$
begin
  raise exception using
    errcode = 'PT' || p_status,
    message = p_code,
    detail = coalesce(p_detail::text, '');
end
$$;

-- refuse_change: trigger for tables whose rows must never be updated or deleted, not even by
-- our own functions.
create function private.refuse_change() returns trigger
language plpgsql set search_path = ''
as $$
begin
  perform private.fail(409, 'RECORD_IS_PERMANENT',
    jsonb_build_object('table', tg_table_name, 'operation', tg_op));
  return null;
end
$$;

-- refuse_row: refuses a row as a CHECK of this name would.
create function private.refuse_row(p_table text, p_constraint text) returns void
language plpgsql set search_path = ''
as $$
begin
  raise exception 'new row for relation "%" violates "%"', p_table, p_constraint
    using errcode = 'check_violation', table = p_table, constraint = p_constraint;
end
$$;
