-- The ground every other migration stands on: nothing is granted unless it is granted by name,
-- the service role, ids, the clock, and the two ways a function says no.

-- Hosted Supabase gives anon, authenticated and service_role everything on each new object of this schema,
-- and Postgres gives PUBLIC execute on every function. From here on a forgotten revoke grants nothing.
alter default privileges in schema public revoke all on tables from anon, authenticated, service_role;
alter default privileges in schema public revoke all on sequences from anon, authenticated, service_role;
alter default privileges in schema public revoke all on functions from anon, authenticated, service_role;
alter default privileges revoke execute on functions from public;

-- Internals that the API never exposes: secrets, helpers, and tables that only functions read.
create schema if not exists private;
revoke all on schema private from public;

-- opsmantik_app: what machine routes connect as. It may execute the functions granted to it and touch no table.
-- It has no password until the deployer sets one.
do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'opsmantik_app') then
    create role opsmantik_app login noinherit;
  end if;
  execute format('revoke temporary on database %I from public', current_database());
end
$$;
alter role opsmantik_app set statement_timeout = '15s';
alter role opsmantik_app set idle_in_transaction_session_timeout = '30s';
grant usage on schema public to opsmantik_app;

-- uuid_v7: an id that sorts by time, so that primary keys are appended to and indexes stay dense.
-- Without a search_path of its own it is inlined; with one, each call costs ten times as much. It names nothing but pg_catalog.
create function private.uuid_v7() returns uuid
language sql volatile
as $$
  -- A random v4 gives the tail; its first 48 bits become milliseconds and its version nibble 4 becomes 7.
  select pg_catalog.encode(
    pg_catalog.set_bit(pg_catalog.set_bit(
      pg_catalog.overlay(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()),
        pg_catalog.substring(pg_catalog.int8send((extract(epoch from pg_catalog.clock_timestamp()) * 1000)::bigint), 3), 1, 6),
      52, 1), 53, 1),
    'hex')::pg_catalog.uuid
$$;

-- current_moment: the clock of every state change. Demo and test data, which connect as the owner of the database, may set
-- opsmantik.now for their transaction; from any other login the setting is ignored. Inlined, like uuid_v7.
create function private.current_moment() returns timestamptz
language sql stable
as $$
  select case when session_user = 'postgres' then coalesce(nullif(pg_catalog.current_setting('opsmantik.now', true), '')::pg_catalog.timestamptz, pg_catalog.now())
         else pg_catalog.now() end
$$;

-- is_plain_text: printable, not blank, bounded. Control characters and direction overrides let a name look like another.
create function private.is_plain_text(p_text text, p_max int) returns boolean
language sql immutable set search_path = ''
as $$
  select coalesce(char_length(p_text) between 1 and p_max and p_text = btrim(p_text)
    and p_text !~ '[\u0001-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]', false)
$$;

-- fail: refuse with one of our codes. PTxxx carries the HTTP status and passes through both database doors whole.
create function private.fail(p_status int, p_code text, p_detail jsonb default null) returns void
language plpgsql set search_path = ''
as $$
begin
  raise exception using errcode = 'PT' || p_status, message = p_code, detail = coalesce(p_detail::text, '');
end
$$;

-- refuse_change: trigger for tables whose rows must never be updated or deleted, not even by our own functions.
create function private.refuse_change() returns trigger
language plpgsql set search_path = ''
as $$
begin
  perform private.fail(409, 'RECORD_IS_PERMANENT', jsonb_build_object('table', tg_table_name, 'operation', tg_op));
  return null;
end
$$;

-- database_readiness: proves that the database answers, and says which migration it has.
--   Callers  service role only.
create function public.database_readiness() returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('migration', (select max(version) from supabase_migrations.schema_migrations))
$$;
grant execute on function public.database_readiness() to opsmantik_app, service_role;
