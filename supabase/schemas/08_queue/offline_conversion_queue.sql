-- The queue: what is to be sent to Google. Every row belongs to a sealed sale; queue_transitions
-- records every change of a row. Rows that are not delivered are few and change often; a delivered
-- row never comes back. So the table has two parts: queue_open and queue_delivered. A row changes
-- its part by delete and insert in one statement (deliver_rows), never by update: whoever waits for
-- a row that an update moves to another part gets an error.

create table public.offline_conversion_queue (
  -- Fixed lengths that are never null come first: Postgres then knows where each of them is, and
  -- need not walk over the others to read it.
  id uuid not null default private.uuid_v7(),
  site_id uuid not null,
  sale_id uuid not null,
  snapshot_id uuid not null,                       -- what the row says; a claim takes the newest
  value_cents bigint not null,
  conversion_time timestamptz not null,
  click_expires_at timestamptz not null,           -- 90 days for a click, 54 for an adjustment
  not_before timestamptz not null,                 -- a retry clears next_retry_at but not this
  created_at timestamptz not null,
  updated_at timestamptz not null,                 -- a claim leaves it: see claimed_at
  attempt_base private.row_count not null default 0,   -- attempts before a person's last retry
  free_waits private.free_waits not null default 0,   -- attempts given back: Google asked to wait
  -- Hand-outs that ended, of a row that is not delivered: attempt_count, without the claim under
  -- way. The end of a claim writes it, so indexes may have it.
  tries int not null default 0,
  -- Nothing but the seal happened to the sale, it has no other row, and this one was handed out at
  -- most once. Such a row is claimed and answered without its sale's lock: see claim_plain.
  is_plain boolean not null default false,
  -- A hand-out ended without an answer, of this row or of one before it.
  may_have_arrived boolean not null default false,
  -- False: an earlier hand-out with another value may have arrived before this one.
  is_certain boolean not null default true,
  is_retryable boolean not null default false,     -- REJECTED for now: the same may work later
  provider_key text not null default 'google_ads',
  kind private.queue_kind not null default 'CONVERSION',
  -- What the row is when nobody has claimed it. A claim leaves it alone; the end of
  -- the claim sets it. Indexes go by this, readers by status.
  state text not null default 'QUEUED',
  currency text not null,
  order_id text not null,
  call_id uuid,
  channel text,                                    -- of the lead: see complete_new_row
  click_kind text,                                 -- the kind of click id that is sent
  next_retry_at timestamptz,                       -- of the past while the row is claimed
  last_error private.error_message,
  provider_error_code private.error_code,
  provider_error_category private.error_category,
  attempt_error private.error_message,             -- of the last real attempt: a deferral leaves it
  attempt_error_code private.error_code,
  attempt_error_category private.error_category,
  by_hand_reason private.by_hand_reason,           -- an adjustment that no API makes: a person does
  -- The next ones are of a delivered row: see provider_dispatches.
  uploaded_at timestamptz,
  transport private.transport,
  provider_request_id private.provider_text,
  record_index int,                                -- its place in a Data Manager request
  verdict private.verdict,
  verdict_reason private.provider_text,
  verdict_at timestamptz,
  delivered_in bigint,                             -- its line of the ledger: see queue_transitions
  identifiers_hash text,                           -- over dispatch_identifiers
  -- From here on what a claim sets. Last, because the log of an update leaves out what the old and
  -- the new row begin with alike; and in no index, so that a claim writes into none (HOT).
  attempt_count int not null default 0,            -- how often it was handed out, ever
  claimed_at timestamptz,
  claim_token uuid,                                -- its lease: see queue_leases
  -- The claim as a plain row: its line of provider_upload_attempts, and the state before it.
  claimed_in bigint,
  claimed_from text,
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
  -- What readers go by: PROCESSING under a claim, else the state. Not generated, and nothing else
  -- is: Postgres parses what generates a column again for each statement, and copies each row once
  -- more. check_queue_rows holds it.
  status text not null default 'QUEUED'
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
-- queue (claim_plain, deliver_rows) record and count what they move themselves; record_verdicts
-- moves nothing.
create trigger new_rows_are_recorded after insert on public.offline_conversion_queue
  referencing new table as after_rows
  for each statement execute function private.record_queue_moves();
create trigger changes_are_recorded after update on public.offline_conversion_queue
  referencing old table as before_rows new table as after_rows
  for each statement execute function private.record_queue_moves();
create trigger new_rows_make_sense after insert on public.offline_conversion_queue
  referencing new table as after_rows
  for each statement execute function private.check_queue_rows();
create trigger changed_rows_make_sense after update on public.offline_conversion_queue
  referencing old table as before_rows new table as after_rows
  for each statement execute function private.check_queue_rows();
create trigger new_rows_are_counted after insert on public.offline_conversion_queue
  referencing new table as after_rows
  for each statement execute function private.count_new_queue_rows();
create trigger changes_are_counted after update on public.offline_conversion_queue
  referencing old table as before_rows new table as after_rows
  for each statement execute function private.count_changed_queue_rows();

-- check_queue_rows: trigger; refuses rows that contradict themselves, as CHECKs of these names
-- would. Once per statement, and not for those that name a part (claim_plain, deliver_rows): their
-- rows are as they must be by what they write, and tests hold it.
create function private.check_queue_rows() returns trigger
language plpgsql security definer set search_path = ''
  set enable_nestloop = off   -- planned once, maybe for one row, and kept for sweeps of thousands
as $$
declare
  v_broken text := (
    select case
      when n.state <> 'COMPLETED' and num_nonnulls(n.uploaded_at, n.delivered_in) > 0
        then 'open_rows_were_not_uploaded'
      when n.state = 'COMPLETED' and num_nonnulls(
          n.claim_token, n.provider_error_code, n.provider_error_category, n.last_error) > 0
        then 'completed_rows_are_over'
      when n.state = 'FAILED' and num_nulls(n.provider_error_code, n.provider_error_category) > 0
        then 'failed_rows_say_why'
      when not case n.kind when 'RETRACT' then n.value_cents = 0 else n.value_cents > 0 end
        then 'values_are_sendable'
      when n.by_hand_reason is not null and n.kind = 'CONVERSION'
        then 'only_adjustments_are_made_by_hand'
      when (n.claimed_at is null) <> (n.claim_token is null)
          -- The end of a claim without a delivery makes the row not plain.
          or n.claim_token is null and n.state <> 'COMPLETED' and n.attempt_count > 0 and n.is_plain
          or n.claim_token is not null and n.state not in ('QUEUED', 'RETRY')
        then 'processing_rows_have_a_claim'
      when n.status <> case when n.claim_token is null then n.state else 'PROCESSING' end
        then 'status_is_the_state_and_the_claim'
      when n.state <> 'COMPLETED' and n.tries <> n.attempt_count - (n.claim_token is not null)::int
        then 'tries_are_the_claims_that_ended'
      when n.attempt_count < n.attempt_base then 'attempts_only_grow'
      when n.conversion_name is null and (n.kind <> 'CONVERSION' or n.attempt_count > 0)
        then 'handed_out_rows_have_a_name' end as broken
    from after_rows n order by 1 limit 1);
begin
  if v_broken is not null then
    perform private.refuse_row(tg_table_name, v_broken);
  end if;
  -- One order id is always one conversion at Google: its name stays that of the first hand-out.
  if tg_op = 'UPDATE' then
    if exists (
        select from before_rows b join after_rows n on n.id = b.id
        where b.conversion_name is not null
          and b.conversion_name is distinct from n.conversion_name) then
      perform private.fail(409, 'RECORD_IS_PERMANENT',
        jsonb_build_object('table', tg_table_name, 'operation', tg_op));
    end if;
  end if;
  return null;
end
$$;
