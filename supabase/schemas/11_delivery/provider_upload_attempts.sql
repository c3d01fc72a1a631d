-- The ledger of attempts: one STARTED and one FINISHED line per batch. No secret, no person. An
-- open batch is its lease (queue_leases); when it ends, both lines become one row here, which never
-- changes. The lines of a batch of plain rows are also the lines of their claim and of their
-- delivery in the ledger of the queue, and have their numbers from it.
create table private.finished_batches (
  batch_id uuid primary key,                       -- the claim's token
  site_id uuid not null,
  provider_key text not null,
  started_in bigint not null unique,
  finished_in bigint not null,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  claimed_count private.row_count not null,
  completed_count private.row_count not null,
  failed_count private.row_count not null,
  retry_count private.row_count not null,
  duration_ms private.row_count,
  provider_request_id private.provider_text,
  error_code private.error_code,
  error_category private.attempt_category
);
create index attempts_of_a_provider
  on private.finished_batches (site_id, provider_key, finished_at);
alter table private.finished_batches enable row level security;

create trigger attempts_are_permanent before update or delete on private.finished_batches
  for each row execute function private.refuse_change();
create trigger attempts_are_never_truncated before truncate on private.finished_batches
  for each statement execute function private.refuse_change();

-- provider_upload_attempts: the ledger, line by line.
create view public.provider_upload_attempts with (security_invoker = true) as
  select b.started_in as id, b.site_id, b.provider_key, b.batch_id, 'STARTED' as phase,
    b.claimed_count::int, null::int as completed_count, null::int as failed_count,
    null::int as retry_count, null::int as duration_ms, null as provider_request_id,
    null as error_code, null as error_category, b.started_at as created_at
  from private.finished_batches b
  union all
  select b.finished_in, b.site_id, b.provider_key, b.batch_id, 'FINISHED',
    null, b.completed_count::int, b.failed_count::int,
    b.retry_count::int, b.duration_ms::int, b.provider_request_id::text,
    b.error_code::text, b.error_category::text, b.finished_at
  from private.finished_batches b
  union all
  select l.started_in, l.site_id, l.provider_key, l.token, 'STARTED',
    l.claimed_count, null, null, null, null, null, null, null, l.claimed_at
  from private.queue_leases l where l.claimed_count is not null;

-- record_deferral: rows were deferred without asking the provider. Writes both lines of the ledger,
-- no try in the metrics, and nothing to the provider's health.
create function private.record_deferral(
  p_site_id uuid, p_provider_key text, p_count int, p_code text
) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  insert into private.finished_batches (batch_id, site_id, provider_key, started_in, finished_in,
      started_at, finished_at, claimed_count, completed_count, failed_count, retry_count,
      error_code, error_category)
    values (gen_random_uuid(), p_site_id, p_provider_key, private.next_move_id(),
      private.next_move_id(), v_now, v_now, p_count, 0, 0, p_count, left(p_code, 64), 'TRANSIENT');
end
$$;
