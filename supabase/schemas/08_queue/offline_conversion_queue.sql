-- The queue: what is to be sent to Google. Every row belongs to a sealed sale; queue_transitions
-- records every change of a row. Rows that are not delivered are few and change often; a delivered
-- row never comes back. So the table has two parts: queue_open and queue_delivered. A row changes
-- its part by delete and insert in one statement (deliver_rows), never by update: whoever waits for
-- a row that an update moves to another part gets an error.

create table public.offline_conversion_queue (
  id uuid not null default private.uuid_v7(),
  site_id uuid not null,
  sale_id uuid not null,
  call_id uuid,
  -- Nothing but the seal happened to the sale, it has no other row, and this one was handed out at
  -- most once. Such a row is claimed and answered without its sale's lock: see claim_plain.
  is_plain boolean not null default false,
  provider_key text not null default 'google_ads',
  kind private.queue_kind not null default 'CONVERSION',
  -- What the row is when nobody has claimed it. A claim leaves it alone; the end of
  -- the claim sets it. Indexes go by this, readers by status.
  state text not null default 'QUEUED',
  order_id text not null,
  snapshot_id uuid not null,                       -- what the row says; a claim takes the newest
  value_cents bigint not null,
  currency text not null,
  conversion_time timestamptz not null,
  click_expires_at timestamptz not null,           -- 90 days for a click, 54 for an adjustment
  not_before timestamptz not null,                 -- a retry clears next_retry_at but not this
  next_retry_at timestamptz,                       -- of the past while the row is claimed
  eligible_at timestamptz not null                 -- "nulls first" as one bounded scan
    generated always as (coalesce(next_retry_at, '-infinity')) stored,
  attempt_base int not null default 0,             -- attempts before the last retry by a person
  free_waits private.free_waits not null default 0,   -- attempts given back: Google asked to wait
  -- Hand-outs that ended: attempt_count, without the claim under way.
  tries int not null generated always as (
    case when claim_token is null then attempt_count else attempt_count - 1 end) stored,
  -- A hand-out ended without an answer, of this row or of one before it.
  may_have_arrived boolean not null default false,
  last_error private.error_message,
  provider_error_code private.error_code,
  provider_error_category private.error_category,
  attempt_error private.error_message,             -- of the last real attempt: a deferral leaves it
  attempt_error_code private.error_code,
  attempt_error_category private.error_category,
  by_hand_reason private.by_hand_reason,           -- an adjustment that no API makes: a person does
  created_at timestamptz not null,
  updated_at timestamptz not null,                 -- a claim leaves it: see claimed_at
  channel text,                                    -- of the lead: see take_channel
  click_kind text,                                 -- the kind of click id that is sent
  identifiers_hash text,                           -- over dispatch_identifiers
  -- The next ones are of a delivered row: see provider_dispatches.
  uploaded_at timestamptz,
  transport private.transport,
  provider_request_id private.provider_text,
  record_index int,                                -- its place in a Data Manager request
  -- False: an earlier hand-out with another value may have arrived before this one.
  is_certain boolean not null default true,
  verdict private.verdict,
  verdict_reason private.provider_text,
  verdict_at timestamptz,
  is_retryable boolean not null default false,     -- REJECTED for now: the same may work later
  delivered_in bigint,                             -- its line of queue_batch_moves, if it has one
  -- From here on what a claim sets. Last, because the log of an update leaves out what the old and
  -- the new row begin with alike; and in no index, so that a claim writes into none (HOT).
  attempt_count int not null default 0,            -- how often it was handed out, ever
  claimed_at timestamptz,
  claim_token uuid,                                -- its lease: see queue_leases
  claimed_in bigint,                               -- its line of queue_batch_moves, if it has one
  -- What the last claim handed out: a late success is booked with this, whatever the row says by
  -- then.
  handed_snapshot_id uuid,
  handed_value_cents bigint,
  -- Claims handed out different values; which of them Google kept is unknown.
  handed_values_differ boolean not null default false,
  -- Claims gave it to both APIs, and the later one may be processed first.
  handed_vias_differ boolean not null default false,
  handed_via text,                                 -- the API of the last claim; null: a script
  conversion_name text,                            -- of the first hand-out, for good
  conversion_action text,                          -- Google's id of it, from the first API claim
  claims uuid[] not null default '{}',             -- the row's last 50 claims, newest first
  status text not null
    generated always as (case when claim_token is null then state else 'PROCESSING' end) stored
) partition by list (state);
alter table public.offline_conversion_queue enable row level security;

-- Rows leave one part for the other by name of the parts: see queue_open.
create trigger queue_rows_are_never_deleted before delete on public.offline_conversion_queue
  for each statement execute function private.refuse_change();
create trigger rows_stay_the_same_conversion
  before update of site_id, sale_id, kind, order_id, currency, conversion_time
  on public.offline_conversion_queue for each statement execute function private.refuse_change();
create trigger queue_is_never_truncated before truncate on public.offline_conversion_queue
  for each statement execute function private.refuse_change();
-- Once per statement, so that a batch of 500 costs one insert. Statements that name a part of the
-- queue (claim_plain, deliver_rows) record and count what they move themselves.
create trigger new_rows_are_recorded after insert on public.offline_conversion_queue
  referencing new table as after_rows
  for each statement execute function private.record_queue_moves();
create trigger changes_are_recorded after update on public.offline_conversion_queue
  referencing old table as before_rows new table as after_rows
  for each statement execute function private.record_queue_moves();
create trigger new_rows_are_counted after insert on public.offline_conversion_queue
  referencing new table as after_rows
  for each statement execute function private.count_new_queue_rows();
create trigger changes_are_counted after update on public.offline_conversion_queue
  referencing old table as before_rows new table as after_rows
  for each statement execute function private.count_changed_queue_rows();
