-- fold_queue_counts: put the appended lines into the base. Lines about rows that the check under
-- way has counted are also added to its sum. Outcomes and upload metrics are folded, too.
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
  added as (
    insert into private.queue_counts as c
      select t.site_id, t.provider_key, t.status, t.currency, t.code, t.category,
        sum(t.row_count), sum(t.value_cents)
      from taken t group by 1, 2, 3, 4, 5, 6
      on conflict (site_id, provider_key, status, currency, code, category) do update
        set row_count = c.row_count + excluded.row_count,
            value_cents = c.value_cents + excluded.value_cents),
  checked as (
    insert into private.queue_check_counts as c
      select t.provider_key, t.status, t.currency, t.code, t.category,
        sum(t.row_count), sum(t.value_cents)
      from taken t join private.queue_check k on k.site_id = t.site_id and t.hour < k.through
      group by 1, 2, 3, 4, 5
      on conflict (provider_key, status, currency, code, category) do update
        set row_count = c.row_count + excluded.row_count,
            value_cents = c.value_cents + excluded.value_cents)
  select count(*) into v_folded from taken;
  delete from private.queue_counts c where c.row_count = 0 and c.value_cents = 0;
  with taken as (
    delete from private.queue_outcome_deltas d where d.ctid = any (array(
      select x.ctid from private.queue_outcome_deltas x limit 50000))
    returning d.*)
  insert into private.queue_outcomes as o
    select t.site_id, t.quarter, t.outcome, t.code, sum(t.row_count) from taken t
    group by 1, 2, 3, 4
    on conflict (site_id, quarter, outcome, code)
    do update set row_count = o.row_count + excluded.row_count;
  perform private.fold_upload_metrics();
  return jsonb_build_object('folded', v_folded);
end
$$;
grant execute on function public.fold_queue_counts() to opsmantik_app, service_role;
