-- part_end: where the next part of a site's rows ends: after p_rows rows, at a full hour. Appended
-- lines know only the hour of their rows, so the rows of one hour stay together.
-- Each state is read in the order of its index and the heads are merged: p_rows + 1 rows are read.
-- Otherwise the planner, which does not know p_rows, may read and sort everything.
create function private.part_end(p_site_id uuid, p_from timestamptz, p_rows int) returns timestamptz
language sql stable security definer set search_path = '' set enable_sort = off
as $$
  select case when count(*) <= p_rows then 'infinity'
    else greatest(private.hour_of(max(t.created_at)),
      private.hour_of(min(t.created_at)) + interval '1 hour') end
  from (
    select x.created_at from (
      (select q.created_at from public.offline_conversion_queue q
        where q.site_id = p_site_id and q.state = 'COMPLETED' and q.created_at >= p_from
        order by q.created_at limit p_rows + 1)
      union all
      (select q.created_at from public.offline_conversion_queue q
        where q.site_id = p_site_id and q.state = 'FAILED' and q.created_at >= p_from
        order by q.created_at limit p_rows + 1)
      union all
      (select q.created_at from public.offline_conversion_queue q
        where q.site_id = p_site_id and q.state = 'QUEUED' and q.created_at >= p_from
        order by q.created_at limit p_rows + 1)
      union all
      (select q.created_at from public.offline_conversion_queue q
        where q.site_id = p_site_id and q.state = 'RETRY' and q.created_at >= p_from
        order by q.created_at limit p_rows + 1)) x
    order by x.created_at limit p_rows + 1) t
$$;

-- count_part: count a site's rows of some hours, and fold their appended lines. One statement: a
-- change is in the count and its line is taken here, or a later fold adds its line to the sum.
create function private.count_part(p_site_id uuid, p_from timestamptz, p_to timestamptz)
returns bigint
language sql security definer set search_path = '' set enable_seqscan = off
as $$
  with counted as (
    select q.provider_key, q.state, q.currency,
      case q.state when 'FAILED' then q.provider_error_code else '' end as code,
      case q.state when 'FAILED' then q.provider_error_category else '' end as category,
      count(*) as row_count, sum(q.value_cents) as value_cents
    from unnest(private.resting_states()) s (state)
      cross join lateral (
        select x.* from public.offline_conversion_queue x
        where x.site_id = p_site_id and x.created_at >= p_from and x.created_at < p_to
          and x.state = s.state) q   -- an index holds these
    group by 1, 2, 3, 4, 5),
  taken as (
    delete from private.queue_count_deltas d
      where d.site_id = p_site_id and d.hour >= p_from and d.hour < p_to returning d.*),
  lines as (
    select t.site_id, t.provider_key, x.state, t.currency, x.code, x.category,
      x.sign * t.row_count as row_count, x.sign * t.value_cents as value_cents, t.hour
    from taken t cross join lateral (values
      (t.state, t.code, t.category, 1), (t.from_state, '', '', -1)) x (state, code, category, sign)
    where x.state is not null),
  folded as (
    insert into private.queue_counts as c
      select l.site_id, l.provider_key, l.state, l.currency, l.code, l.category,
        sum(l.row_count), sum(l.value_cents)
      from lines l group by 1, 2, 3, 4, 5, 6
      on conflict (site_id, provider_key, state, currency, code, category) do update
        set row_count = c.row_count + excluded.row_count,
            value_cents = c.value_cents + excluded.value_cents),
  put_back as (   -- for the fold: what the lines say besides
    insert into private.queue_count_deltas
      select t.site_id, t.provider_key, null, t.state, t.currency, t.code, t.category, 0, 0, t.hour,
        t.outcome_count, t.outcome_at, t.arrived_tries
      from taken t where t.outcome_count > 0),
  summed as (
    insert into private.queue_check_counts as c select t.* from counted t
      on conflict (provider_key, state, currency, code, category) do update
        set row_count = c.row_count + excluded.row_count,
            value_cents = c.value_cents + excluded.value_cents)
  select coalesce(sum(t.row_count), 0)::bigint from counted t
$$;

-- correct_counts: compare the base of a site with the finished sum and correct it. Lines that are
-- not folded yet are in neither.
create function private.correct_counts(p_site_id uuid) returns jsonb
language sql security definer set search_path = ''
as $$
  with wrong as (
    select p_site_id as site_id, d.provider_key, d.state, d.currency, d.code, d.category,
      sum(d.row_count)::bigint as n, sum(d.value_cents) as v
    from (
      select t.* from private.queue_check_counts t
      union all
      select c.provider_key, c.state, c.currency, c.code, c.category, -c.row_count, -c.value_cents
      from private.queue_counts c where c.site_id = p_site_id) d
    group by 2, 3, 4, 5, 6 having sum(d.row_count) <> 0 or sum(d.value_cents) <> 0),
  put_right as (
    insert into private.queue_counts as c select w.* from wrong w
      on conflict (site_id, provider_key, state, currency, code, category) do update
        set row_count = c.row_count + excluded.row_count,
            value_cents = c.value_cents + excluded.value_cents),
  done as (delete from private.queue_check_counts)
  select coalesce(jsonb_agg(to_jsonb(w)), '[]') from wrong w
$$;

-- reconcile_queue_counts: one step of a check of all counts. The check counts the queue site by
-- site, records what was wrong and corrects it.
--   A step   counts at most p_limit rows, or one hour of one site when that has more. It ends after
--            100 sites. The next step continues.
--   Safe     while others write: a row that changes after it was counted changes the sum, too, with
--            the line that its writer appended.
--   Returns  {rowsCounted, drift, more}: rows and wrong lines of this check so far, and whether it
--            continues. rowsCounted is null when another cron folds or counts: nothing was done.
--   Callers  service role only (daily cron).
create function public.reconcile_queue_counts(p_limit int default 5000) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_check private.queue_check;
  v_left int := least(greatest(p_limit, 1), 50000);
  v_end timestamptz;
  v_rows bigint;
  v_more boolean := true;
begin
  if not pg_catalog.pg_try_advisory_xact_lock(hashtext('queue_counts')) then
    return jsonb_build_object('rowsCounted', null, 'drift', 0, 'more', true);
  end if;
  select k.* into v_check from private.queue_check k;
  for v_turn in 1 .. 100 loop
    if v_check.through is null then   -- the next site; an id is never all zeroes
      select s.id, '-infinity' into v_check.site_id, v_check.through from public.sites s
        where s.id > coalesce(v_check.site_id, '00000000-0000-0000-0000-000000000000')
        order by s.id limit 1;
      v_more := found;
      exit when not found;
    end if;
    v_end := private.part_end(v_check.site_id, v_check.through, v_left);
    v_rows := private.count_part(v_check.site_id, v_check.through, v_end);
    v_check.rows_counted := v_check.rows_counted + v_rows;
    v_check.through := v_end;
    if v_end = 'infinity' then
      v_check.drift := v_check.drift || private.correct_counts(v_check.site_id);
      delete from private.queue_outcomes o where o.site_id = v_check.site_id
        and o.quarter < private.current_moment() - interval '100 days';   -- charts go back 90
      v_check.through := null;
    end if;
    v_left := v_left - v_rows;
    exit when v_left <= 0;
  end loop;
  if not v_more then
    insert into private.queue_count_checks (checked_at, rows_counted, drift)
      values (private.current_moment(), v_check.rows_counted, v_check.drift);
  end if;
  update private.queue_check k set
    site_id = case when v_more then v_check.site_id end, through = v_check.through,
    rows_counted = case when v_more then v_check.rows_counted else 0 end,
    drift = case when v_more then v_check.drift else '[]' end;
  return jsonb_build_object('rowsCounted', v_check.rows_counted,
    'drift', jsonb_array_length(v_check.drift), 'more', v_more);
end
$$;
grant execute on function public.reconcile_queue_counts(int) to opsmantik_app, service_role;
