-- Ids, the clock, and times as text.

-- uuid_v7: an id that sorts by time, so that primary keys are appended to and indexes stay dense.
-- It has no search_path of its own, so Postgres inlines it; with one, each call costs ten times as
-- much. It names nothing but pg_catalog.
create function private.uuid_v7() returns uuid
language sql volatile
as $$
  -- A random v4 id. Its first 48 bits become milliseconds, and its version 4 becomes 7.
  select pg_catalog.encode(
    pg_catalog.set_bit(pg_catalog.set_bit(
      pg_catalog.overlay(
        pg_catalog.uuid_send(pg_catalog.gen_random_uuid()),
        pg_catalog.substring(
          pg_catalog.int8send(
            (extract(epoch from pg_catalog.clock_timestamp()) * 1000)::bigint),
          3),
        1, 6),
      52, 1), 53, 1),
    'hex')::pg_catalog.uuid
$$;

-- current_moment: the clock of every state change. Demo and test data, which connect as the owner
-- of the database, may set opsmantik.now for their transaction; from any other login the setting is
-- ignored. Inlined, like uuid_v7.
create function private.current_moment() returns timestamptz
language sql stable
as $$
  select case
    when session_user = 'postgres' then coalesce(
      nullif(pg_catalog.current_setting('opsmantik.now', true), '')::pg_catalog.timestamptz,
      pg_catalog.now())
    else pg_catalog.now() end
$$;

-- hour_of: the hour of a moment, in UTC. Inlined; date_trunc with a zone costs ten times as much.
create function private.hour_of(p_at timestamptz) returns timestamptz
language sql immutable
as $$
  select pg_catalog.date_bin(
    interval '1 hour', p_at, pg_catalog.timestamptz '2000-01-01 00:00:00+00')
$$;

-- quarter_of: the quarter of an hour of a moment. Inlined.
create function private.quarter_of(p_at timestamptz) returns timestamptz
language sql immutable
as $$
  select pg_catalog.date_bin(
    interval '15 minutes', p_at, pg_catalog.timestamptz '2000-01-01 00:00:00+00')
$$;

-- exact_time: a moment in UTC, to the microsecond.
create function private.exact_time(p_at timestamptz) returns text
language sql stable set search_path = ''
as $$ select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') $$;

-- utc_text: a moment in UTC, to the second.
create function private.utc_text(p_at timestamptz) returns text
language sql immutable set search_path = ''
as $$ select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') $$;
