-- Rows that were tried, and the outcome of each try. Deferrals are no tries.
create table public.provider_upload_metrics (
  site_id uuid not null references public.sites (id),
  provider_key text not null,
  attempts_total bigint not null default 0,
  completed_total bigint not null default 0,
  failed_total bigint not null default 0,
  retry_total bigint not null default 0,
  updated_at timestamptz not null,
  primary key (site_id, provider_key),
  constraint metrics_only_grow check (least(attempts_total, completed_total, failed_total,
    retry_total) >= 0)
);
alter table public.provider_upload_metrics enable row level security;

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
  insert into public.provider_upload_metrics as m (site_id, provider_key, attempts_total,
      completed_total, failed_total, retry_total, updated_at)
    values (p_site_id, p_provider_key, coalesce(p_attempts, 0), coalesce(p_completed, 0),
      coalesce(p_failed, 0), coalesce(p_retry, 0), private.current_moment())
    on conflict (site_id, provider_key) do update
      set attempts_total = m.attempts_total + excluded.attempts_total,
          completed_total = m.completed_total + excluded.completed_total,
          failed_total = m.failed_total + excluded.failed_total,
          retry_total = m.retry_total + excluded.retry_total,
          updated_at = excluded.updated_at;
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.increment_provider_upload_metrics(uuid, text, int, int, int, int)
  to opsmantik_app, service_role;
