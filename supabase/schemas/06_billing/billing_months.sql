-- Months are counted in UTC.

-- billed_rows_kept: how long a billing row is kept, at least. A younger one has not expired.
create function private.billed_rows_kept() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '90 days' $$;

-- billing_month: the UTC month a moment belongs to.
create function private.billing_month(p_at timestamptz) returns text
language sql immutable set search_path = ''
as $$
  select to_char(p_at at time zone 'UTC', 'YYYY-MM')
$$;

-- month_start: the moment a billing month begins.
create function private.month_start(p_year_month text) returns timestamptz
language plpgsql immutable set search_path = ''
as $$
begin
  if p_year_month is null or p_year_month !~ '^[0-9]{4}-(0[1-9]|1[0-2])$' then
    perform private.fail(400, 'VALIDATION_FAILED', jsonb_build_object('field', 'yearMonth'));
  end if;
  return (p_year_month || '-01')::timestamp at time zone 'UTC';
end
$$;

-- month_end: the moment a billing month ends, which is when the next begins.
create function private.month_end(p_year_month text) returns timestamptz
language sql immutable set search_path = ''
as $$
  select ((private.month_start(p_year_month) at time zone 'UTC') + interval '1 month')
    at time zone 'UTC'
$$;
