-- Captured events: the payload of each admitted event, until the worker has stored it.

create table public.ingest_fallback_buffer (
  -- private.uuid_v7() written out: as a call it takes 50 us of each event, written out 5.
  id uuid primary key default encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
    from 1 for 6), 52, 1), 53, 1), 'hex')::uuid,
  site_id uuid not null references public.sites (id),
  payload jsonb not null,
  status text not null default 'PENDING',
  attempt_count int not null default 0,
  claim_token uuid,
  claimed_at timestamptz,
  -- Already in site_usage_monthly; else the worker adds it.
  counted boolean not null,
  -- Its place in the batch: rows of one batch share created_at.
  position smallint not null default 0,
  -- The second report of a call: stored, never billed.
  is_enrichment boolean not null default false,
  last_error text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint status_is_known check (status in ('PENDING', 'PROCESSING', 'RECOVERED', 'FAILED')),
  constraint processing_rows_have_a_claim check (
    (status = 'PROCESSING') = (claim_token is not null and claimed_at is not null)),
  constraint failed_rows_say_why check (status <> 'FAILED' or last_error is not null)
)
-- Each row is updated twice and then purged. Every change of status leaves a dead entry in an
-- index, and a claim steps over those of pending_events until vacuum removes them. So vacuum
-- starts at 1 % and does not pause. No such update is HOT, because status stands in the indexes'
-- predicates; the free space keeps the versions of a row on one page.
with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.02
);
create index pending_events
  on public.ingest_fallback_buffer (created_at, position, id) where status = 'PENDING';
create index claimed_events
  on public.ingest_fallback_buffer (claimed_at) where status = 'PROCESSING';
create index failed_events
  on public.ingest_fallback_buffer (site_id, created_at) where status = 'FAILED';
create index stored_events
  on public.ingest_fallback_buffer (updated_at) where status = 'RECOVERED';
alter table public.ingest_fallback_buffer enable row level security;
