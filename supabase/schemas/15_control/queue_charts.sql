-- not_sent_codes: why a row is closed on purpose before it is sent (DETERMINISTIC_SKIP). Outcomes
-- are kept by code alone.
create function private.not_sent_codes() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['SALE_CANCELLED', 'SUPERSEDED', 'NO_CONSENT'] $$;

-- queue_charts: what happened to a site's rows over time.
--   Takes    p_range 24h, 7d (by the hour), 30d or 90d (by the day of the site's time zone).
--            Latency is over the newest 2,000 deliveries of the range.
--   Returns  {siteId, range, from, to, bucket, activity, latency, causes, failedNow}.
--   Callers  viewers.
create function public.queue_charts(p_public_id text, p_range text default '7d') returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_now timestamptz := private.current_moment();
  v_bucket text := case when p_range in ('24h', '7d') then 'hour' else 'day' end;
  v_from timestamptz;
  v_activity jsonb;
  v_causes jsonb;
begin
  if p_range is null or p_range not in ('24h', '7d', '30d', '90d') then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "range"}');
  end if;
  v_from := date_trunc(v_bucket, v_now - p_range::interval, v_site.timezone);
  with outcomes as materialized (select o.* from private.outcomes_since(v_site.id, v_from) o),
  counted as (
    select date_trunc(v_bucket, o.quarter, v_site.timezone) as at,
      sum(o.n) filter (where o.outcome = 'COMPLETED') as delivered,
      sum(o.n) filter (where o.outcome = 'FAILED' and not o.is_not_sent) as failed,
      sum(o.n) filter (where o.outcome = 'FAILED' and o.is_not_sent) as not_sent,
      sum(o.n) filter (where o.outcome = 'RETRY') as retried
    from (
      select x.quarter, x.outcome, x.code = any (private.not_sent_codes()) as is_not_sent,
        sum(x.row_count) as n
      from outcomes x group by 1, 2, 3) o
    group by 1)
  select
      (select jsonb_agg(jsonb_build_object(
          'at', b.at,
          'delivered', coalesce(c.delivered, 0),
          'failed', coalesce(c.failed, 0),
          'notSent', coalesce(c.not_sent, 0),
          'retried', coalesce(c.retried, 0))
        order by b.at)
       from generate_series(v_from, v_now, ('1 ' || v_bucket)::interval, v_site.timezone) b (at)
         left join counted c on c.at = b.at),
      (select coalesce(jsonb_agg(jsonb_build_object(
          'code', c.code,
          'category', null,
          'count', c.n)
        order by c.n desc, c.code), '[]')
       from (
         select o.code, sum(o.row_count) as n from outcomes o
         where o.outcome = 'FAILED' and o.code <> all (private.not_sent_codes())
         group by 1 order by 2 desc, 1 limit 20) c)
    into v_activity, v_causes;
  return jsonb_build_object(
    'siteId', p_public_id,
    'range', p_range,
    'from', v_from,
    'to', v_now,
    'bucket', v_bucket,
    'activity', v_activity,
    'causes', v_causes,
    'latency', (
      select jsonb_build_object(
        'sample', count(*),
        'p50Seconds', percentile_disc(0.5) within group (order by l.seconds),
        'p90Seconds', percentile_disc(0.9) within group (order by l.seconds),
        'p95Seconds', percentile_disc(0.95) within group (order by l.seconds),
        'p99Seconds', percentile_disc(0.99) within group (order by l.seconds))
      from (
        select round(extract(epoch from q.uploaded_at - q.created_at)) as seconds
        from public.offline_conversion_queue q
        where q.site_id = v_site.id and q.provider_key = 'google_ads'
          and q.state = 'COMPLETED' and q.uploaded_at >= v_from and q.kind = 'CONVERSION'
        order by q.uploaded_at desc limit 2000) l),
    'failedNow', (
      select coalesce(jsonb_agg(jsonb_build_object(
          'code', f.code,
          'category', f.category,
          'count', f.n,
          'valueCents', f.v)
        order by f.n desc, f.code), '[]')
      from (
        select c.code, c.category, sum(c.n) as n, jsonb_object_agg(c.currency, c.v) as v
        from (
          select t.code, t.category, t.currency, sum(t.row_count) as n, sum(t.value_cents) as v
          from private.queue_totals(array[v_site.id]) t
          where t.status = 'FAILED' group by 1, 2, 3) c
        group by 1, 2 order by 3 desc, 1 limit 20) f));
end
$$;
grant execute on function public.queue_charts(text, text) to authenticated;
