-- Events that were not admitted, counted by reason.

-- Rows are appended, so that a storm of duplicates never queues behind one counter row. A cron
-- folds them.
create table public.ingest_drop_deltas (
  id bigint generated always as identity primary key,
  site_id uuid not null references public.sites (id),
  day date not null,
  reason text not null,
  drops int not null,
  constraint drop_reason_is_known
    check (reason in ('duplicate', 'bot', 'consent', 'quota', 'privacy_signal', 'ceiling')),
  constraint drops_are_positive check (drops > 0)
);
alter table public.ingest_drop_deltas enable row level security;

create table public.ingest_drops_daily (
  site_id uuid not null references public.sites (id),
  day date not null,
  reason text not null,
  drops bigint not null,
  primary key (site_id, day, reason)
);
alter table public.ingest_drops_daily enable row level security;

-- note_drops: appends drops of today.
create function private.note_drops(p_site_id uuid, p_reason text, p_drops int) returns void
language sql security definer set search_path = ''
as $$
  insert into public.ingest_drop_deltas (site_id, day, reason, drops)
  select p_site_id, (private.current_moment() at time zone 'UTC')::date, p_reason, p_drops
  where p_drops > 0
$$;

-- count_drops: counts events that were refused before the gate: robots, missing consent, a
-- browser's privacy signal, the site's ceiling.
--   Callers  service role only.
create function public.count_drops(p_site_id uuid, p_reason text, p_drops int) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  perform private.note_drops(p_site_id, p_reason, p_drops);
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.count_drops(uuid, text, int) to opsmantik_app, service_role;

-- fold_drops: adds appended drops to one figure per site, day and reason.
--   Returns  {folded}; at most 50,000 a call.
--   Callers  service role only (cron).
create function public.fold_drops() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_folded int;
begin
  with taken as (
    delete from public.ingest_drop_deltas d where d.id in (
      select e.id from public.ingest_drop_deltas e order by e.id limit 50000 for update skip locked)
    returning d.site_id, d.day, d.reason, d.drops
  ), folded as (
    insert into public.ingest_drops_daily as t (site_id, day, reason, drops)
    select k.site_id, k.day, k.reason, sum(k.drops) from taken k group by 1, 2, 3 order by 1, 2, 3
    on conflict (site_id, day, reason) do update set drops = t.drops + excluded.drops
  )
  select count(*) into v_folded from taken;
  return jsonb_build_object('folded', v_folded);
end
$$;
grant execute on function public.fold_drops() to opsmantik_app, service_role;

-- dropped_events: how many events were dropped since a day, by reason, folded or not.
create function private.dropped_events(p_site_id uuid, p_from date) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_object_agg(r.reason, r.drops), '{}')
  from (
    select t.reason, sum(t.drops) as drops
    from (
      select f.reason, f.drops from public.ingest_drops_daily f
      where f.site_id = p_site_id and f.day >= p_from
      union all
      select d.reason, d.drops from public.ingest_drop_deltas d
      where d.site_id = p_site_id and d.day >= p_from) t
    group by t.reason) r
$$;
