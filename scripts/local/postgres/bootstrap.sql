-- What a hosted Supabase database has before the first migration. Safe to run again, in a database
-- of any name. The auth schema's tables come from the gateway; pg_cron, pg_net and vault exist on
-- hosted only and are not used.

do $$
begin
  if to_regrole('anon') is null then create role anon nologin noinherit; end if;
  if to_regrole('authenticated') is null then create role authenticated nologin noinherit; end if;
  if to_regrole('service_role') is null then
    create role service_role nologin noinherit bypassrls;
  end if;
end
$$;

create schema if not exists extensions;
create schema if not exists auth;
create extension if not exists pgcrypto with schema extensions;
create extension if not exists "uuid-ossp" with schema extensions;

grant usage on schema public, auth, extensions to anon, authenticated, service_role;

-- Generous on purpose, as hosted is: a migration that forgets to revoke fails the grants test here
-- as well. Only before the first migration, because migrations take these privileges back.
do $$
begin
  if to_regclass('supabase_migrations.schema_migrations') is null then
    alter default privileges for role postgres in schema public
      grant all on tables to anon, authenticated, service_role;
    alter default privileges for role postgres in schema public
      grant all on sequences to anon, authenticated, service_role;
    alter default privileges for role postgres in schema public
      grant all on functions to anon, authenticated, service_role;
  end if;
end
$$;

do $$
begin
  execute format(
    'alter database %I set search_path = "$user", public, extensions', current_database());
end
$$;
