-- count_page: counts the next thousand events of a day, or the last ones once the day is over.
-- The digest of a day takes its events by time, then key, a thousand at a time: SHA-256 over the
-- keys of the first thousand, then over that digest and the keys of the next, and so on. One
-- SHA-256 over all keys could not be done in steps: 0.7 s for a day of a million.
--   Returns  false when fewer than a thousand are settled and the day is not over.
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

-- count_days: counts the events of a site before p_until, the oldest day first.
--   Safe     to stop anywhere: each page is kept. Beside a second count of the site: see Returns.
--   Returns  true when less than a page is left before p_until; false after p_pages; null when
--            somebody else is counting the site.
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
-- in every snapshot: counted and newer events are read together. A changed day that waits to be
-- counted again is counted here.
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
