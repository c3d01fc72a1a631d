-- fold_queue_counts: put the appended lines into the base. Lines about rows that the check under
-- way has counted are also added to its sum. What they say of outcomes and of a worker's tries is
-- folded, too.
--   Safe     to run twice at once: the second does nothing. Readers see the lines before or after,
--            never half.
--   Returns  {folded}; at most 50,000 lines a call.
--   Callers  service role only (cron, each minute).
create function public.fold_queue_counts() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_folded int;
begin
  if not pg_catalog.pg_try_advisory_xact_lock(hashtext('queue_counts')) then
    return jsonb_build_object('folded', 0);
  end if;
  with taken as (
    delete from private.queue_count_deltas d where d.ctid = any (array(
      select x.ctid from private.queue_count_deltas x limit 50000))
    returning d.*),
  lines as (
    select t.site_id, t.provider_key, x.state, t.currency, x.code, x.category,
      x.sign * t.row_count as row_count, x.sign * t.value_cents as value_cents, t.hour
    from taken t cross join lateral (values
      (t.state, t.code, t.category, 1), (t.from_state, '', '', -1)) x (state, code, category, sign)
    where x.state is not null),
  added as (
    insert into private.queue_counts as c
      select l.site_id, l.provider_key, l.state, l.currency, l.code, l.category,
        sum(l.row_count), sum(l.value_cents)
      from lines l group by 1, 2, 3, 4, 5, 6
      on conflict (site_id, provider_key, state, currency, code, category) do update
        set row_count = c.row_count + excluded.row_count,
            value_cents = c.value_cents + excluded.value_cents),
  checked as (
    insert into private.queue_check_counts as c
      select l.provider_key, l.state, l.currency, l.code, l.category,
        sum(l.row_count), sum(l.value_cents)
      from lines l join private.queue_check k on k.site_id = l.site_id and l.hour < k.through
      group by 1, 2, 3, 4, 5
      on conflict (provider_key, state, currency, code, category) do update
        set row_count = c.row_count + excluded.row_count,
            value_cents = c.value_cents + excluded.value_cents),
  noted as (
    insert into private.queue_outcomes as o
      select t.site_id, private.quarter_of(t.outcome_at), t.state, t.code, sum(t.outcome_count)
      from taken t where t.outcome_count > 0 group by 1, 2, 3, 4
      on conflict (site_id, quarter, outcome, code)
      do update set row_count = o.row_count + excluded.row_count),
  metered as (
    insert into private.upload_metric_deltas (site_id, provider_key, attempts, completed, failed,
        retry, at)
      select t.site_id, t.provider_key, sum(t.arrived_tries), sum(t.arrived_tries), 0, 0,
        max(t.outcome_at)
      from taken t where t.arrived_tries > 0 group by 1, 2)
  select count(*) into v_folded from taken;
  delete from private.queue_counts c where c.row_count = 0 and c.value_cents = 0;
  perform private.fold_upload_metrics();
  return jsonb_build_object('folded', v_folded);
end
$$;
grant execute on function public.fold_queue_counts() to opsmantik_app, service_role;
