-- Leases: which rows are in flight. A claim is one lease, which names its rows by id: no index of
-- the queue tells what was claimed, so that a claim changes none. A row is in flight while it has
-- the token of its lease. A lease may outlive its rows, but no row with a token is without one.
-- A worker's lease is also its batch, STARTED and not FINISHED, while it has a claimed_count.

create table private.queue_leases (
  token uuid primary key,
  site_id uuid not null,
  claimed_at timestamptz not null,
  row_ids uuid[] not null,                         -- as they were handed out; none of signals
  provider_key text,                               -- these four are of a worker's batch
  pipeline private.upload_pipeline,
  claimed_count int,                               -- null: the batch is finished, or a script's
  started_in bigint                                -- STARTED of the batch: its line of the ledger
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
alter table private.queue_leases alter column row_ids set storage external;
create index idx_offline_conversion_queue_processing_claimed_at
  on private.queue_leases (claimed_at);
alter table private.queue_leases enable row level security;

-- queue_in_flight: the rows in flight, with the time of their lease.
create view private.queue_in_flight as
  select q.*, l.claimed_at as leased_at
  from private.queue_leases l
    cross join lateral unnest(l.row_ids) i (id)
    join public.offline_conversion_queue q on q.id = i.id and q.claim_token = l.token
      and q.site_id = l.site_id and q.state in ('QUEUED', 'RETRY');

-- open_upload_batches: what was STARTED and not FINISHED.
create view private.open_upload_batches as
  select l.token as batch_id, l.site_id, l.provider_key, l.pipeline, l.claimed_count,
    l.claimed_at as started_at
  from private.queue_leases l where l.claimed_count is not null;

-- end_leases: deletes those of these leases that have no row in flight any more and no batch open.
--   Safe     against an undo that puts a row back under its claim: it locks the lease. A locked one
--            stays for the next sweep, and rows are looked at once the others are locked.
create function private.end_leases(p_tokens uuid[]) returns void
language plpgsql security definer set search_path = ''
  set enable_seqscan = off   -- dead leases stay in the table while a snapshot is held
as $$
declare
  v_tokens uuid[] := array(
    select l.token from private.queue_leases l where l.token = any (p_tokens)
    for update skip locked);
begin
  delete from private.queue_leases l
    where l.token = any (v_tokens) and l.claimed_count is null and not exists (
      select from private.queue_open q where q.id = any (l.row_ids) and q.claim_token = l.token);
end
$$;

-- end_leases_of: the same for the newest leases of these rows.
create function private.end_leases_of(p_ids uuid[]) returns void
language plpgsql security definer set search_path = '' set enable_seqscan = off
as $$
begin
  perform private.end_leases(array(
    select distinct q.claims[1] from public.offline_conversion_queue q where q.id = any (p_ids)));
end
$$;
