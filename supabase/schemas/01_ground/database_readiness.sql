-- database_readiness: proves that the database answers, and says which migration it has.
--   Callers  service role only.
create function public.database_readiness() returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'migration', (select max(version) from supabase_migrations.schema_migrations))
$$;
grant execute on function public.database_readiness() to opsmantik_app, service_role;
