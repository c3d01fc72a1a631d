-- Every event, in monthly partitions by receive time, where the API cannot see it. The default
-- partition takes what has no month of its own, so a late cron loses nothing.
create table private.events (
  id uuid not null,                   -- the captured row's id: storing twice is impossible
  site_id uuid not null,
  session_id uuid not null,
  received_at timestamptz not null,
  happened_at timestamptz not null,   -- received minus its age: an offline browser reports late
  category text not null,
  action text not null,
  label text,
  value numeric,
  url text,
  primary key (received_at, id)
) partition by range (received_at);
create table private.events_default partition of private.events default;
create index events_of_a_session on private.events (session_id, received_at);
alter table private.events enable row level security;
alter table private.events_default enable row level security;

-- ensure_event_partitions: this month and the next two, made ahead.
--   Safe     to repeat. A month whose events already lie in the default partition is left there.
--   Callers  service role only (daily cron).
create function public.ensure_event_partitions() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_month timestamp := date_trunc('month', private.current_moment() at time zone 'UTC');
  v_name text;
  v_made text[] := '{}';
begin
  perform pg_catalog.pg_advisory_xact_lock(hashtext('ensure_event_partitions'));
  for v_offset in 0..2 loop
    v_name := 'events_' || to_char(v_month + make_interval(months => v_offset), 'YYYY_MM');
    continue when to_regclass('private.' || v_name) is not null;
    begin
      execute format(
        'create table private.%I partition of private.events for values from (%L) to (%L)',
        v_name,
        (v_month + make_interval(months => v_offset)) at time zone 'UTC',
        (v_month + make_interval(months => v_offset + 1)) at time zone 'UTC');
      execute format('alter table private.%I enable row level security', v_name);
      v_made := v_made || v_name;
    exception when check_violation then
      null;   -- the default partition has events of this month; they stay readable there
    end;
  end loop;
  return jsonb_build_object('made', to_jsonb(v_made));
end
$$;
grant execute on function public.ensure_event_partitions() to opsmantik_app, service_role;

-- The first months, before any cron has run.
select public.ensure_event_partitions();
