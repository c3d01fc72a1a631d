-- How long personal data is kept. The installation's periods come from the app's settings; an owner
-- can shorten the one for leads and notes. Each run does bounded steps and remembers how far it
-- came.

-- How far each kind is cleared, and what the last run that removed something removed. Events and
-- keys are the installation's, with the site of nobody.
create table private.retention_progress (
  site_id uuid not null,
  kind text not null,
  cleared_until timestamptz not null,
  removed bigint not null default 0,   -- by the last run that removed something
  removed_at timestamptz,
  primary key (site_id, kind),
  constraint retention_kind_is_known
    check (kind in ('events', 'visits', 'leads', 'sales', 'notes', 'captured', 'keys'))
);
alter table private.retention_progress enable row level security;

-- What an owner chose for one site.
create table private.site_retention (
  site_id uuid primary key references public.sites (id),
  personal_months int not null,
  changed_at timestamptz not null,
  constraint personal_months_are_bounded check (personal_months between 4 and 120)
);
alter table private.site_retention enable row level security;

-- whole_installation: stands for the installation where a row needs a site.
create function private.whole_installation() returns uuid
language sql immutable parallel safe set search_path = ''
as $$ select '00000000-0000-0000-0000-000000000000'::uuid $$;

-- personal_months_of: how long a site keeps what tells who a lead was: never longer than the
-- installation does.
create function private.personal_months_of(p_site_id uuid, p_months int) returns int
language sql stable security definer set search_path = ''
as $$
  select least(p_months, (
    select r.personal_months from private.site_retention r where r.site_id = p_site_id))
$$;

-- note_removed: a step came this far. Several steps of one run add up.
create function private.note_removed(
  p_site_id uuid, p_kind text, p_until timestamptz, p_removed bigint
) returns void
language sql security definer set search_path = ''
as $$
  insert into private.retention_progress as t
      (site_id, kind, cleared_until, removed, removed_at)
    values (p_site_id, p_kind, p_until, p_removed,
      case when p_removed > 0 then private.current_moment() end)
    on conflict (site_id, kind) do update
      set cleared_until = greatest(t.cleared_until, excluded.cleared_until),
          removed = case
            when p_removed = 0 then t.removed
            when t.removed_at > private.current_moment() - interval '1 hour'
              then t.removed + p_removed
            else p_removed end,
          removed_at = case
            when p_removed = 0 then t.removed_at else private.current_moment() end
$$;

-- reopen_retention: something is written for a moment that the last run has passed. The next run
-- begins there again.
create function private.reopen_retention(p_site_id uuid, p_kind text, p_at timestamptz)
returns void
language sql security definer set search_path = ''
as $$
  update private.retention_progress t set cleared_until = p_at
    where t.site_id = p_site_id and t.kind = p_kind and t.cleared_until > p_at
$$;

-- drop_old_events: drops the monthly partitions that ended before p_before, and deletes up to 5,000
-- older events that lie in the default partition. Bills and proofs do not need events: they count
-- ingest_idempotency.
--   Safe     beside ingest: a drop that cannot lock within half a second is left to the next run,
--            because new events wait behind it.
--   Returns  {dropped, deleted, isBusy}.
create function private.drop_old_events(p_before timestamptz) returns jsonb
language plpgsql security definer set search_path = '' set lock_timeout = '500ms'
as $$
declare
  v_name text;
  v_dropped text[] := '{}';
  v_rows bigint;
  v_removed bigint := 0;
  v_busy boolean := false;
begin
  for v_name, v_rows in
    -- An estimate: counting a month would take long.
    select c.relname, greatest(c.reltuples, 1)::bigint from pg_catalog.pg_inherits i
      join pg_catalog.pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'private.events'::regclass and c.relname ~ '^events_\d{4}_\d{2}$'
      and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month'
        <= p_before at time zone 'UTC'
    order by 1
  loop
    begin
      execute format('lock table private.events, private.%I in access exclusive mode', v_name);
      execute format('drop table private.%I', v_name);
      v_dropped := v_dropped || v_name;
      v_removed := v_removed + v_rows;
    exception when lock_not_available then
      v_busy := true;
      exit;
    end;
  end loop;
  delete from private.events_default e using (
    select x.received_at, x.id from private.events_default x
    where x.received_at < p_before order by x.received_at limit 5000) t
    where e.received_at = t.received_at and e.id = t.id;
  get diagnostics v_rows = row_count;
  perform private.note_removed(
    private.whole_installation(), 'events', p_before, v_removed + v_rows);
  return jsonb_build_object('dropped', v_dropped, 'deleted', v_rows, 'isBusy', v_busy);
end
$$;

-- forget_visits: deletes up to p_limit visits of a site that began before p_before and led to no
-- lead, with the choices and clicks of visitors who have no visit left.
create function private.forget_visits(p_site_id uuid, p_before timestamptz, p_limit int)
returns bigint
language plpgsql security definer set search_path = ''
as $$
declare
  v_visitors text[];
  v_removed bigint;
  v_until timestamptz;
  v_settled timestamptz := private.current_moment() - interval '2 days';
begin
  with old as (
    select s.id from public.sessions s
    where s.site_id = p_site_id and s.started_at < p_before
      and s.started_at >= private.cleared_until(p_site_id, 'visits')
      and not exists (select from public.calls c where c.session_id = s.id)
    order by s.started_at limit p_limit for update
  ), gone as (
    delete from public.sessions s using old where s.id = old.id
    returning s.visitor_id, s.started_at)
  select array_agg(distinct g.visitor_id), count(*), max(g.started_at)
    into v_visitors, v_removed, v_until from gone g;
  v_visitors := array(
    select v from unnest(v_visitors) v
    where not exists (
      select from public.sessions s where s.site_id = p_site_id and s.visitor_id = v));
  -- What was said or seen in these days may belong to a visit that is not stored yet.
  -- purge_consent_choices decides about it when it has been here for two days.
  delete from public.consent_choices c
    where c.site_id = p_site_id and c.visitor_id = any (v_visitors) and c.last_said_at < v_settled;
  update public.consent_choices c set received_at = private.current_moment()
    where c.site_id = p_site_id and c.visitor_id = any (v_visitors);
  delete from private.click_sightings c
    where c.site_id = p_site_id and c.visitor_id = any (v_visitors) and c.first_seen_at < v_settled;
  perform private.note_removed(p_site_id, 'visits', coalesce(v_until, p_before), v_removed);
  return v_removed;
end
$$;
