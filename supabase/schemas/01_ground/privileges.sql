-- The ground everything stands on: nothing is granted unless it is granted by name.

-- Hosted Supabase gives anon, authenticated and service_role everything on each new object of this
-- schema, and Postgres gives PUBLIC execute on every function. From here on a forgotten revoke
-- grants nothing.
alter default privileges in schema public
  revoke all on tables from anon, authenticated, service_role;
alter default privileges in schema public
  revoke all on sequences from anon, authenticated, service_role;
alter default privileges in schema public
  revoke all on functions from anon, authenticated, service_role;
alter default privileges revoke execute on functions from public;

-- Internals that the API never exposes: secrets, helpers, and tables that only functions read.
create schema if not exists private;
revoke all on schema private from public;

-- opsmantik_app: what machine routes connect as. It executes the functions granted to it and
-- touches no table. It has no password until the deployer sets one.
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

-- Statements of people and of the service key end by themselves too. The Data API (PostgREST)
-- applies these settings of the role it acts as. Supabase lets a project's postgres set them; where
-- it does not, Supabase's own defaults stay (8 s for people, 3 s for strangers).
do $$
begin
  alter role anon set statement_timeout = '3s';
  alter role authenticated set statement_timeout = '8s';
  alter role service_role set statement_timeout = '15s';
exception when insufficient_privilege then
  raise warning 'statement_timeout of anon, authenticated and service_role was not set';
end
$$;
