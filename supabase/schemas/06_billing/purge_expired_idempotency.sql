-- purge_expired_idempotency: forgets expired keys. A month without its invoice keeps every row,
-- however old. It looks only at sites whose oldest row can have expired, and there only into
-- invoiced months, in the order rows came, so it never reads rows that must stay.
--   Safe     from two crons at once: skip locked gives each row to one of them.
--   Returns  {purged}; 0 when nothing is left.
--   Callers  service role only (cron).
create function public.purge_expired_idempotency(p_limit int default 10000) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_newest timestamptz := v_now - private.billed_rows_kept();
  v_limit int := least(greatest(p_limit, 1), 50000);
  v_purged int := 0;
  v_part int;
  v_month record;
begin
  for v_month in
    select v.site_id, private.month_start(v.year_month) as since,
      least(private.month_end(v.year_month), v_newest + interval '1 microsecond') as till
    from public.sites s
    cross join lateral (
      select i.created_at from public.ingest_idempotency i
      where i.site_id = s.id order by i.created_at limit 1) oldest
    join public.invoices v on v.site_id = s.id
      and v.year_month >= private.billing_month(oldest.created_at)
      and v.year_month <= private.billing_month(v_newest)
    where oldest.created_at <= v_newest
    order by v.year_month, v.site_id
  loop
    with gone as (
      delete from public.ingest_idempotency i
        using (
          select x.site_id, x.idempotency_key from public.ingest_idempotency x
          where x.site_id = v_month.site_id and x.created_at >= v_month.since
            and x.created_at < v_month.till and x.expires_at <= v_now
          order by x.created_at limit v_limit - v_purged for update skip locked) old
        where i.site_id = old.site_id and i.idempotency_key = old.idempotency_key
        returning i.created_at
    ), per_day as (
      select (g.created_at at time zone 'UTC')::date as day, count(*) as events
      from gone g group by 1
    ), noted as (
      update private.counted_days d set purged = d.purged + p.events
        from per_day p where d.site_id = v_month.site_id and d.day = p.day
    )
    select coalesce(sum(p.events), 0) into v_part from per_day p;
    v_purged := v_purged + v_part;
    exit when v_purged >= v_limit;
  end loop;
  return jsonb_build_object('purged', v_purged);
end
$$;
grant execute on function public.purge_expired_idempotency(int) to opsmantik_app, service_role;
