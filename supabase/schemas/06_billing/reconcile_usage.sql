-- Running figures, counted again from ingest_idempotency. Invoiced months stay as they are.

-- reconcile_usage: counts what came since the last call, and sets the running figures of this month
-- and of an unfrozen last month to what the ledger holds.
--   A step   counts at most 10,000 events of a site and goes to the next one. It ends after half a
--            second or p_limit figures.
--   Safe     beside admissions: everything is counted before the first figure is locked. Under the
--            lock it counts only events that are not settled: those of the last minute, and those
--            since the oldest running transaction began. A site with over 20,000 of them waits.
--            Beside a second cron: one of them takes a site, the other skips it.
--   Returns  {reconciled: [{siteId, yearMonth, eventCount, drift}], more, waiting}; drift is the
--            running figure minus the ledger, waiting the number of sites that wait.
--   Callers  service role only (cron).
create function public.reconcile_usage(p_limit int default 25) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_until timestamptz := private.settled_until();
  v_now timestamptz := private.current_moment();
  v_this text := private.billing_month(v_now);
  v_last text := private.billing_month(date_trunc('month', v_now, 'UTC') - interval '1 day');
  v_started timestamptz := clock_timestamp();
  v_limit int := least(greatest(p_limit, 1), 500);
  v_due record;
  v_counted boolean;
  v_usage public.site_usage_monthly;
  v_more boolean := false;
  v_waiting int := 0;
  v_ready jsonb := '[]';
  v_done jsonb := '[]';
begin
  for v_due in
    select s.id, s.public_id, m.year_month
    from public.sites s
    cross join (values (v_this), (v_last)) m(year_month)
    left join public.site_usage_monthly u on u.site_id = s.id and u.year_month = m.year_month
    where (u.reconciled_at is null or u.reconciled_at <= v_now - interval '5 minutes')
      and not exists (select from public.invoices v
        where v.site_id = s.id and v.year_month = m.year_month)
      -- The first event, not exists(): the planner may read every event of every site for that.
      and (u.site_id is not null or (
        select i.created_at from public.ingest_idempotency i where i.site_id = s.id
          and i.created_at >= private.month_start(m.year_month)
          and i.created_at < private.month_end(m.year_month)
        order by i.created_at limit 1) is not null)
    order by u.reconciled_at nulls first, s.id
  loop
    if jsonb_array_length(v_ready) = v_limit
        or clock_timestamp() > v_started + interval '500 milliseconds' then
      v_more := true;
      exit;
    end if;
    v_counted := private.count_days(v_due.id, v_until);
    continue when v_counted is null;
    if not v_counted then
      v_more := true;
    elsif exists (select from public.ingest_idempotency i
        where i.site_id = v_due.id and i.created_at >= v_until
        order by i.created_at offset 20000 limit 1) then
      v_waiting := v_waiting + 1;
    else
      v_ready := v_ready || to_jsonb(v_due);
    end if;
  end loop;
  for v_due in
    select r.* from jsonb_to_recordset(v_ready) r (id uuid, public_id text, year_month text)
  loop
    v_usage := private.recount_month(v_due.id, v_due.year_month);
    v_done := v_done || jsonb_build_object(
      'siteId', v_due.public_id,
      'yearMonth', v_due.year_month,
      'eventCount', v_usage.reconciled_count,
      'drift', v_usage.drift);
  end loop;
  return jsonb_build_object('reconciled', v_done, 'more', v_more, 'waiting', v_waiting);
end
$$;
grant execute on function public.reconcile_usage(int) to opsmantik_app, service_role;
