-- Rows that were tried, and the outcome of each try. Deferrals are no tries. Each batch appends a
-- line: added up in one row, all answers of a site would wait for each other's commits. A cron
-- folds the lines into the totals.

create table private.upload_metric_totals (
  site_id uuid not null references public.sites (id),
  provider_key text not null,
  attempts_total bigint not null,
  completed_total bigint not null,
  failed_total bigint not null,
  retry_total bigint not null,
  updated_at timestamptz not null,
  primary key (site_id, provider_key),
  constraint metrics_only_grow check (least(attempts_total, completed_total, failed_total,
    retry_total) >= 0)
);
alter table private.upload_metric_totals enable row level security;

create table private.upload_metric_deltas (
  site_id uuid not null,
  provider_key text not null,
  attempts int not null,
  completed int not null,
  failed int not null,
  retry int not null,
  at timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
alter table private.upload_metric_deltas enable row level security;

-- provider_upload_metrics: the totals and what was appended since, of one moment.
create view public.provider_upload_metrics with (security_invoker = true) as
  select m.site_id, m.provider_key, sum(m.attempts_total)::bigint as attempts_total,
    sum(m.completed_total)::bigint as completed_total, sum(m.failed_total)::bigint as failed_total,
    sum(m.retry_total)::bigint as retry_total, max(m.updated_at) as updated_at
  from (
    select t.site_id, t.provider_key, t.attempts_total, t.completed_total, t.failed_total,
      t.retry_total, t.updated_at
    from private.upload_metric_totals t
    union all
    select d.site_id, d.provider_key, d.attempts, d.completed, d.failed, d.retry, d.at
    from private.upload_metric_deltas d
    union all   -- of batches that arrived whole: see deliver_plain
    select c.site_id, c.provider_key, c.arrived_tries, c.arrived_tries, 0, 0, c.outcome_at
    from private.queue_count_deltas c where c.arrived_tries > 0) m
  group by 1, 2;

-- increment_provider_upload_metrics: add to a (site, provider)'s counters.
--   Refuses  400 VALIDATION_FAILED for a negative number.
--   Callers  service role only.
create function public.increment_provider_upload_metrics(
  p_site_id uuid, p_provider_key text, p_attempts int, p_completed int, p_failed int, p_retry int
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  if least(p_attempts, p_completed, p_failed, p_retry) < 0 then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "counts"}');
  end if;
  insert into private.upload_metric_deltas (site_id, provider_key, attempts, completed, failed,
      retry, at)
    values (p_site_id, p_provider_key, coalesce(p_attempts, 0), coalesce(p_completed, 0),
      coalesce(p_failed, 0), coalesce(p_retry, 0), private.current_moment());
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.increment_provider_upload_metrics(uuid, text, int, int, int, int)
  to opsmantik_app, service_role;

-- fold_upload_metrics: put the appended lines into the totals. Called by fold_queue_counts, which
-- lets one run at a time.
--   Returns  how many; at most 50,000 a call.
create function private.fold_upload_metrics() returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_folded int;
begin
  with taken as (
    delete from private.upload_metric_deltas d where d.ctid = any (array(
      select x.ctid from private.upload_metric_deltas x limit 50000))
    returning d.*),
  added as (
    insert into private.upload_metric_totals as m (site_id, provider_key, attempts_total,
        completed_total, failed_total, retry_total, updated_at)
      select t.site_id, t.provider_key, sum(t.attempts), sum(t.completed), sum(t.failed),
        sum(t.retry), max(t.at)
      from taken t group by 1, 2
      on conflict (site_id, provider_key) do update
        set attempts_total = m.attempts_total + excluded.attempts_total,
            completed_total = m.completed_total + excluded.completed_total,
            failed_total = m.failed_total + excluded.failed_total,
            retry_total = m.retry_total + excluded.retry_total,
            updated_at = greatest(m.updated_at, excluded.updated_at))
  select count(*) into v_folded from taken;
  return v_folded;
end
$$;
