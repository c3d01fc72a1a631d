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
alter table private.counted_days enable row level security;

-- Days whose rows changed after their time. The next count of the site starts them again.
create table private.changed_days (
  site_id uuid not null,
  day date not null,
  written_by xid8 not null
);
create index changed_days_of_a_site on private.changed_days (site_id, day);
alter table private.changed_days enable row level security;

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

-- reopen_changed_days: days that changed after they were counted are counted again from the start.
-- A day whose rows may have been purged stays: purged rows must not become a credit.
create function private.reopen_changed_days(p_site_id uuid) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_purgeable date :=
    ((private.current_moment() - private.billed_rows_kept()) at time zone 'UTC')::date;
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
