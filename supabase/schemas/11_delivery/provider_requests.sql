-- Accepted Data Manager requests, whose verdicts are polled.
create table public.provider_requests (
  site_id uuid not null,
  request_id private.request_id not null,
  provider_key text not null,
  pipeline private.upload_pipeline not null,
  row_count private.row_count not null,
  row_ids uuid[] not null default '{}',            -- of seals: the queue's rows
  customer_id text,                                -- of the account that sent it, where known
  sent_at timestamptz not null,
  next_poll_at timestamptz,
  poll_count private.row_count not null default 0,
  finished_at timestamptz,
  status private.request_status,
  primary key (site_id, request_id)
);
-- Random ids: compressing them takes time and gains nothing.
alter table public.provider_requests alter column row_ids set storage external;
create index requests_to_poll on public.provider_requests (next_poll_at)
  where finished_at is null;
alter table public.provider_requests enable row level security;

-- note_requests: accepted Data Manager requests, to be polled for their verdicts.
--   Takes    p_results and p_batch as settle takes them.
create function private.note_requests(
  p_site_id uuid, p_provider_key text, p_pipeline text, p_results jsonb, p_batch jsonb
) returns void
language sql security definer set search_path = ''
as $$
  insert into public.provider_requests (site_id, request_id, provider_key, pipeline, row_count,
      customer_id, sent_at, next_poll_at)
    select p_site_id, left(r."requestId", 256), p_provider_key, p_pipeline, count(*),
      left(p_batch ->> 'customerId', 20), n.now,
      n.now + make_interval(secs => coalesce((p_batch ->> 'firstPollSeconds')::int, 1800))
    from jsonb_to_recordset(p_results)
        r (outcome text, transport text, "requestId" text, verdict text)
      cross join (select private.current_moment() as now) n
    where r.outcome = 'COMPLETED' and r.transport = 'data_manager' and r.verdict is null
      and r."requestId" <> ''
    group by 2, n.now order by 2
    on conflict (site_id, request_id) do nothing
$$;

-- claim_verdict_polls: take up to p_limit requests whose verdict may be asked for now.
--   Safe     from many pollers at once: each request goes to one of them for p_lease_seconds.
--   Returns  [{siteUuid, providerKey, pipeline, requestId, rowCount, sentAt, pollCount,
--            isSameAccount}]; pollCount is how often it was asked before, isSameAccount whether the
--            account that the site is connected to sent it. Requests of a site without credentials
--            wait.
--   Callers  service role only.
create function public.claim_verdict_polls(p_limit int, p_lease_seconds int) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_polls jsonb;
begin
  with due as materialized (
    select r.site_id, r.request_id from public.provider_requests r
    where r.finished_at is null and r.next_poll_at <= v_now
      and exists (select from public.provider_credentials c
        where c.site_id = r.site_id and c.provider_key = r.provider_key)
    order by r.next_poll_at limit least(greatest(p_limit, 0), 1000) for update skip locked),
  taken as (
    update public.provider_requests r
      set next_poll_at = v_now + make_interval(secs => least(greatest(p_lease_seconds, 1), 3600)),
          poll_count = r.poll_count + 1
      from due d where r.site_id = d.site_id and r.request_id = d.request_id
      returning r.*)
  select coalesce(jsonb_agg(jsonb_build_object(
        'siteUuid', t.site_id,
        'providerKey', t.provider_key,
        'pipeline', t.pipeline,
        'requestId', t.request_id,
        'rowCount', t.row_count,
        'sentAt', t.sent_at,
        'pollCount', t.poll_count - 1,
        'isSameAccount', exists (select from public.provider_credentials c
          where c.site_id = t.site_id and c.provider_key = t.provider_key
            and c.account ->> 'customerId' = t.customer_id))
      order by t.sent_at, t.request_id), '[]')
    into v_polls from taken t;
  return v_polls;
end
$$;
grant execute on function public.claim_verdict_polls(int, int) to opsmantik_app, service_role;
