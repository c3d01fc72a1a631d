-- Counted days: the ledger is counted once, a thousand events at a time, behind every transaction
-- that can still add one. A figure is the sum of what was counted and a count of what came since.

create table private.counted_days (
  site_id uuid not null references public.sites (id),
  day date not null,                       -- UTC
  events bigint not null,
  digest bytea,                            -- of the keys counted so far; null without any
  last_at timestamptz,                     -- the last event that was counted
  last_key bytea,
  closed_at timestamptz,                   -- null until the whole day is counted
  purged bigint not null default 0,        -- events that have expired and were deleted
  primary key (site_id, day)
);
create index open_days on private.counted_days (site_id, day) where closed_at is null;

-- Days whose rows changed after their time. The next count of the site starts them again.
create table private.changed_days (
  site_id uuid not null,
  day date not null,
  written_by xid8 not null
);
create index changed_days_of_a_site on private.changed_days (site_id, day);

-- Everything created before settled_until has committed or never will.
create table private.ledger_watermark (
  is_the_only_row boolean primary key default true check (is_the_only_row),
  settled_until timestamptz not null default '-infinity',
  noted_at timestamptz,                    -- what it becomes, but for a minute,
  horizon xid8                             -- once every transaction before this one has ended
);
insert into private.ledger_watermark default values;
alter table private.counted_days enable row level security;
alter table private.changed_days enable row level security;
alter table private.ledger_watermark enable row level security;

-- note_changed_day: appended, so that no admission waits for another. One line per transaction.
create function private.note_changed_day(p_site_id uuid, p_at timestamptz) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_day date := (p_at at time zone 'UTC')::date;
begin
  insert into private.changed_days (site_id, day, written_by)
    select p_site_id, v_day, pg_catalog.pg_current_xact_id()
    where not exists (select from private.changed_days c where c.site_id = p_site_id
      and c.day = v_day and c.written_by = pg_catalog.pg_current_xact_id());
end
$$;

-- note_late_row: an admission inserts within seconds of its own start, which is its created_at: the
-- app's statements end after 15 s. The watermark relies on one minute. A row that takes longer is
-- noted. This costs an admission 4 of its 90 us; as a WHEN of the trigger it costs 7.
create function private.note_late_row() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  if new.created_at not between clock_timestamp() - interval '1 minute' and clock_timestamp() then
    perform private.note_changed_day(new.site_id, new.created_at);
  end if;
  return null;
end
$$;
create trigger late_rows_are_noted after insert on public.ingest_idempotency
  for each row execute function private.note_late_row();

-- note_lost_row: expired rows are purged after their day was invoiced. A row that an admission
-- takes back in its own transaction was never there.
create function private.note_lost_row() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  perform private.note_changed_day(old.site_id, old.created_at);
  return null;
end
$$;
create trigger lost_rows_are_noted after delete on public.ingest_idempotency for each row
  when (old.expires_at > now() and old.created_at < now())
  execute function private.note_lost_row();
create trigger billable_rows_never_change
  before update of site_id, idempotency_key, created_at on public.ingest_idempotency
  for each row execute function private.refuse_change();

-- settled_until: move the watermark on as far as running transactions allow, and give it.
--   Whoever began more than a minute before this transaction has inserted before it got its id, and
--   so has a lower one. Once nobody with a lower one runs, all up to that minute is settled.
--   Safe     from two crons at once: the second takes the watermark as it is.
create function private.settled_until() returns timestamptz
language plpgsql security definer set search_path = ''
as $$
declare
  v_mark private.ledger_watermark;
begin
  select w.* into v_mark from private.ledger_watermark w for update skip locked;
  if not found then
    return (select w.settled_until from private.ledger_watermark w);
  end if;
  -- A horizon "from the future" was noted before this database was restored elsewhere.
  if v_mark.horizon is null
      or v_mark.horizon <= pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())
      or v_mark.horizon > pg_catalog.pg_current_xact_id() then
    v_mark.settled_until := greatest(v_mark.settled_until, v_mark.noted_at - interval '1 minute');
    v_mark.noted_at := private.current_moment();
    v_mark.horizon := pg_catalog.pg_current_xact_id();
    if v_mark.horizon = pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot()) then
      v_mark.settled_until := greatest(v_mark.settled_until, v_mark.noted_at - interval '1 minute');
    end if;
    update private.ledger_watermark w set settled_until = v_mark.settled_until,
      noted_at = v_mark.noted_at, horizon = v_mark.horizon;
  end if;
  return v_mark.settled_until;
end
$$;

-- reopen_changed_days: days that changed after they were counted are counted again from the start.
-- A day whose rows may have been purged is left: what is missing there is no credit.
create function private.reopen_changed_days(p_site_id uuid) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_purgeable date := ((private.current_moment() - interval '90 days') at time zone 'UTC')::date;
begin
  with taken as (
    delete from private.changed_days c where c.site_id = p_site_id returning c.day
  )
  insert into private.counted_days (site_id, day, events)
    select distinct p_site_id, t.day, 0 from taken t
    where t.day <= (select max(d.day) from private.counted_days d where d.site_id = p_site_id)
      and (t.day > v_purgeable or not exists (select from public.invoices v
        where v.site_id = p_site_id and v.year_month = to_char(t.day, 'YYYY-MM')))
    on conflict (site_id, day) do update
      set events = 0, digest = null, last_at = null, last_key = null, closed_at = null;
end
$$;

-- count_page: count the next thousand events of a day, or the last ones once the day is over.
--   The digest of a day: its events in the order of time, then key, a thousand at a time. SHA-256
--   over the keys of the first thousand; then over that digest and the keys of the next, and so on.
--   One SHA-256 over all keys could not be stopped half-way: 0.7 s for a day of a million.
--   Returns  false when fewer than a thousand are settled and the day goes on.
create function private.count_page(p_site_id uuid, p_day date, p_until timestamptz) returns boolean
language plpgsql security definer set search_path = ''
as $$
declare
  v_page constant int := 1000;
  v_start timestamptz := p_day::timestamp at time zone 'UTC';
  v_end timestamptz := v_start + interval '24 hours';
  v_day private.counted_days;
  v_next record;
begin
  select d.* into v_day from private.counted_days d where d.site_id = p_site_id and d.day = p_day;
  select count(*) as events, max(t.created_at) as last_at,
      string_agg(t.idempotency_key, ''::bytea order by t.created_at, t.idempotency_key) as keys
    into v_next from (
      select i.created_at, i.idempotency_key from public.ingest_idempotency i
      where i.site_id = p_site_id and i.created_at >= coalesce(v_day.last_at, v_start)
        and i.created_at < least(v_end, p_until)
        and (v_day.last_at is null
          or (i.created_at, i.idempotency_key) > (v_day.last_at, v_day.last_key))
      order by i.created_at, i.idempotency_key limit v_page) t;
  if v_next.events < v_page and p_until < v_end then
    return false;
  end if;
  if v_next.events > 0 then
    v_day.digest := sha256(coalesce(v_day.digest, '') || v_next.keys);
    v_day.last_at := v_next.last_at;
    v_day.last_key := substr(v_next.keys, octet_length(v_next.keys) - 31);
  end if;
  if v_next.events < v_page then
    v_day.closed_at := private.current_moment();
  end if;
  insert into private.counted_days as d
      (site_id, day, events, digest, last_at, last_key, closed_at)
    values (p_site_id, p_day, v_next.events, v_day.digest, v_day.last_at, v_day.last_key,
      v_day.closed_at)
    on conflict (site_id, day) do update set events = d.events + excluded.events,
      digest = excluded.digest, last_at = excluded.last_at, last_key = excluded.last_key,
      closed_at = excluded.closed_at;
  return true;
end
$$;

-- count_days: count what a site's ledger holds before p_until, the oldest day first.
--   Safe     to stop anywhere: each page is kept. Beside a second count of the site: see Returns.
--   Returns  true when nothing is left before p_until but part of a page; false after p_pages;
--            null when somebody else is counting the site.
create function private.count_days(p_site_id uuid, p_until timestamptz, p_pages int default 10)
returns boolean
language plpgsql security definer set search_path = ''
as $$
declare
  v_day date;
begin
  if not pg_catalog.pg_try_advisory_xact_lock(hashtextextended('count_days/' || p_site_id, 0)) then
    return null;
  end if;
  perform private.reopen_changed_days(p_site_id);
  for v_turn in 1 .. p_pages + 1 loop
    select least(
        (select min(d.day) from private.counted_days d
          where d.site_id = p_site_id and d.closed_at is null),
        (select (i.created_at at time zone 'UTC')::date from public.ingest_idempotency i
          where i.site_id = p_site_id and i.created_at < p_until and i.created_at >= (
            select coalesce(max(d.day) + 1, '-infinity')::timestamp at time zone 'UTC'
            from private.counted_days d where d.site_id = p_site_id and d.closed_at is not null)
          order by i.created_at limit 1))
      into v_day;
    if v_day is null then
      return true;
    end if;
    exit when v_turn > p_pages;
    if not private.count_page(p_site_id, v_day, p_until) then
      return true;
    end if;
  end loop;
  return false;
end
$$;

-- daily_counts: how many events the ledger holds on each day from p_from until before p_to. Exact
-- in every snapshot: what was counted and what came since are read together. A changed day that
-- waits to be counted again is counted here.
create function private.daily_counts(p_site_id uuid, p_from timestamptz, p_to timestamptz)
returns table (day date, events bigint, purged bigint)
language sql stable security definer set search_path = ''
as $$
  select (g.since at time zone 'UTC')::date,
    case when d.closed_at is not null then d.events else coalesce(d.events, 0)
      + (select count(*) from public.ingest_idempotency i where i.site_id = p_site_id
           and i.created_at >= g.since and i.created_at < g.since + interval '24 hours'
           and i.created_at > coalesce(d.last_at, '-infinity'))
      + (select count(*) from public.ingest_idempotency i where i.site_id = p_site_id
           and i.created_at = d.last_at and i.idempotency_key > d.last_key) end,
    coalesce(d.purged, 0)
  from generate_series(p_from, p_to - interval '24 hours', interval '24 hours') g (since)
  left join private.counted_days d on d.site_id = p_site_id
    and d.day = (g.since at time zone 'UTC')::date
    and not exists (
      select from private.changed_days c where c.site_id = p_site_id and c.day = d.day)
$$;
