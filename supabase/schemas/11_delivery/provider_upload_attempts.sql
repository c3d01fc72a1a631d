-- The ledger of attempts: one STARTED and one FINISHED line per batch. No secret, no person.
create table public.provider_upload_attempts (
  id bigint generated always as identity primary key,
  site_id uuid not null,
  provider_key text not null,
  batch_id uuid not null,                          -- the claim's token
  phase private.upload_phase not null,
  claimed_count int,
  completed_count int,
  failed_count int,
  retry_count int,
  duration_ms int,
  provider_request_id private.provider_text,
  error_code private.error_code,
  error_category private.attempt_category,
  created_at timestamptz not null,
  constraint one_line_per_batch_and_phase unique (batch_id, phase),
  constraint started_lines_count_the_claimed check (phase <> 'STARTED'
    or (coalesce(claimed_count, -1) >= 0 and num_nonnulls(completed_count, failed_count,
      retry_count, duration_ms, provider_request_id, error_code, error_category) = 0)),
  constraint finished_lines_count_the_outcomes check (phase <> 'FINISHED'
    or (claimed_count is null and least(coalesce(completed_count, -1), coalesce(failed_count, -1),
      coalesce(retry_count, -1), duration_ms) >= 0))
);
create index attempts_of_a_provider
  on public.provider_upload_attempts (site_id, provider_key, created_at desc);
alter table public.provider_upload_attempts enable row level security;

create trigger attempts_are_permanent before update or delete on public.provider_upload_attempts
  for each row execute function private.refuse_change();
create trigger attempts_are_never_truncated before truncate on public.provider_upload_attempts
  for each statement execute function private.refuse_change();

-- record_deferral: rows were deferred without asking the provider. Writes both lines of the ledger,
-- no try in the metrics, and nothing to the provider's health.
create function private.record_deferral(
  p_site_id uuid, p_provider_key text, p_count int, p_code text
) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_batch uuid := gen_random_uuid();
begin
  insert into public.provider_upload_attempts (site_id, provider_key, batch_id, phase,
      claimed_count, completed_count, failed_count, retry_count, error_code, error_category,
      created_at)
    values
      (p_site_id, p_provider_key, v_batch, 'STARTED', p_count, null, null, null, null, null,
        private.current_moment()),
      (p_site_id, p_provider_key, v_batch, 'FINISHED', null, 0, 0, p_count, left(p_code, 64),
        'TRANSIENT', private.current_moment());
end
$$;
