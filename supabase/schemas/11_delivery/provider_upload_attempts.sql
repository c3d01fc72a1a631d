-- The ledger of attempts: one STARTED and one FINISHED line per batch. No secret, no person. The
-- lines of a batch of plain rows are also the lines of their claim and of their delivery in the
-- ledger of the queue, and have their numbers from it.
create table public.provider_upload_attempts (
  id bigint primary key default private.next_move_id(),
  site_id uuid not null,
  provider_key text not null,
  batch_id uuid not null,                          -- the claim's token
  phase private.upload_phase not null,
  claimed_count private.row_count,
  completed_count private.row_count,
  failed_count private.row_count,
  retry_count private.row_count,
  duration_ms private.row_count,
  provider_request_id private.provider_text,
  error_code private.error_code,
  error_category private.attempt_category,
  created_at timestamptz not null,
  constraint one_line_per_batch_and_phase unique (batch_id, phase)
);
create index attempts_of_a_provider
  on public.provider_upload_attempts (site_id, provider_key, created_at);
alter table public.provider_upload_attempts enable row level security;

create trigger attempts_are_permanent before update or delete on public.provider_upload_attempts
  for each row execute function private.refuse_change();
create trigger attempts_are_never_truncated before truncate on public.provider_upload_attempts
  for each statement execute function private.refuse_change();

-- check_attempt_line: trigger; a STARTED line counts what was claimed and nothing else, a FINISHED
-- line the outcomes. Not CHECKs: Postgres parses those again for each statement, and with batches
-- of one that was a twelfth of an answer.
create function private.check_attempt_line() returns trigger
language plpgsql set search_path = ''
as $$
declare
  v_broken text := case new.phase
    when 'STARTED' then case when new.claimed_count is null or num_nonnulls(new.completed_count,
        new.failed_count, new.retry_count, new.duration_ms, new.provider_request_id,
        new.error_code, new.error_category) > 0 then 'started_lines_count_the_claimed' end
    when 'FINISHED' then case when new.claimed_count is not null or num_nulls(new.completed_count,
        new.failed_count, new.retry_count) > 0 then 'finished_lines_count_the_outcomes' end end;
begin
  if v_broken is not null then
    perform private.refuse_row(tg_table_name, v_broken);
  end if;
  return new;
end
$$;
create trigger lines_count_what_their_phase_knows before insert on public.provider_upload_attempts
  for each row execute function private.check_attempt_line();

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
