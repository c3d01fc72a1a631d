-- The queue: what is to be sent to Google. Every row belongs to a sealed sale; queue_transitions
-- records every change of a row.

create table public.offline_conversion_queue (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null,
  sale_id uuid not null references public.sales (id),
  call_id uuid,
  provider_key text not null default 'google_ads',
  kind text not null default 'CONVERSION',
  status text not null default 'QUEUED',
  order_id text not null,
  snapshot_id uuid not null,                       -- what the row says; a claim takes the newest
  value_cents bigint not null,
  currency text not null,
  conversion_time timestamptz not null,
  conversion_name text,                            -- of the first hand-out, for good
  conversion_action text,                          -- Google's id of it, from the first API claim
  click_expires_at timestamptz not null,           -- 90 days for a click, 54 for an adjustment
  not_before timestamptz not null,                 -- a retry clears next_retry_at but not this
  next_retry_at timestamptz,
  attempt_count int not null default 0,            -- how often it was handed out, ever
  attempt_base int not null default 0,             -- attempts before the last retry by a person
  free_waits int not null default 0,               -- attempts given back: Google asked to wait
  claimed_at timestamptz,
  claim_token uuid,
  claims uuid[] not null default '{}',             -- the row's last 50 claims, newest first
  identifiers_hash text,                           -- over dispatch_identifiers, of the last claim
  click_kind text,                                 -- the kind of click id sent, likewise
  -- What the last claim handed out: a late success is booked with this, whatever the row says by
  -- then.
  handed_snapshot_id uuid,
  handed_value_cents bigint,
  -- Claims handed out different values; which of them Google kept is unknown.
  handed_values_differ boolean not null default false,
  handed_via text,                                 -- the API of the last claim; null: a script
  -- Claims gave it to both APIs, and the later one may be processed first.
  handed_vias_differ boolean not null default false,
  -- A hand-out ended without an answer, of this row or of one before it.
  may_have_arrived boolean not null default false,
  last_error text,
  provider_error_code text,
  provider_error_category text,
  attempt_error text,                              -- of the last real attempt: a deferral leaves it
  attempt_error_code text,
  attempt_error_category text,
  by_hand_reason text,                             -- an adjustment that no API makes: a person does
  provider_request_id text,
  uploaded_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  channel text,                                    -- of the lead: see take_channel
  constraint kind_is_known check (kind in ('CONVERSION', 'RESTATE', 'RETRACT')),
  constraint queue_status_is_known
    check (status in ('QUEUED', 'RETRY', 'PROCESSING', 'COMPLETED', 'FAILED')),
  constraint processing_rows_have_a_claim
    check ((status = 'PROCESSING') = (claimed_at is not null and claim_token is not null)),
  constraint completed_rows_were_uploaded
    check ((status = 'COMPLETED') = (uploaded_at is not null)),
  constraint completed_rows_have_no_error check (status <> 'COMPLETED'
    or (provider_error_code is null and provider_error_category is null and last_error is null)),
  constraint failed_rows_say_why check (status <> 'FAILED'
    or (provider_error_code is not null and provider_error_category is not null)),
  constraint error_category_is_known check (provider_error_category in
    ('VALIDATION', 'AUTH', 'TRANSIENT', 'RATE_LIMIT', 'PERMANENT', 'DETERMINISTIC_SKIP')),
  constraint attempts_only_grow check (attempt_count >= attempt_base and attempt_base >= 0),
  constraint handed_out_rows_have_a_name
    check (conversion_name is not null or (kind = 'CONVERSION' and attempt_count = 0)),
  constraint values_are_sendable
    check (case kind when 'RETRACT' then value_cents = 0 else value_cents > 0 end),
  constraint errors_are_bounded check (char_length(last_error) <= 1024
    and char_length(provider_error_code) <= 64 and char_length(provider_request_id) <= 256),
  constraint attempt_errors_are_bounded
    check (char_length(attempt_error) <= 1024 and char_length(attempt_error_code) <= 64),
  constraint attempt_category_is_known check (attempt_error_category in
    ('VALIDATION', 'AUTH', 'TRANSIENT', 'RATE_LIMIT', 'PERMANENT', 'DETERMINISTIC_SKIP')),
  constraint free_waits_are_bounded check (free_waits between 0 and 20),
  constraint only_adjustments_are_made_by_hand check (by_hand_reason is null
    or (kind <> 'CONVERSION' and by_hand_reason in
      ('NO_ADS_API_ACCESS', 'SENT_BY_SCRIPT', 'WBRAID_ONLY', 'NO_VERDICT', 'OTHER_ACCOUNT')))
) with (
  -- A row is updated three or four times within minutes and then never again. Free space on its
  -- page keeps it there, and vacuum starts by count, not by share of a table that is mostly
  -- history.
  fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.02
);
-- Most indexes hold only the rows that are open or only those that are closed: an update writes
-- into every index that takes the row, so a claim must not pay for the filters of a screen.
-- Exactly the claim's ORDER BY: a claim reads its rows from this index, whatever the backlog.
create index idx_offline_conversion_queue_eligible_scan on public.offline_conversion_queue
  (site_id, provider_key, next_retry_at nulls first, created_at, id)
  where status in ('QUEUED', 'RETRY');
create index idx_offline_conversion_queue_processing_claimed_at
  on public.offline_conversion_queue (claimed_at) where status = 'PROCESSING';
create index idx_offline_conversion_queue_uploaded_at
  on public.offline_conversion_queue (site_id, provider_key, uploaded_at)
  where uploaded_at is not null;
create index transient_failures_to_retry on public.offline_conversion_queue (next_retry_at)
  where status = 'FAILED' and next_retry_at is not null;
create index waiting_rows_by_click_expiry on public.offline_conversion_queue (click_expires_at)
  where status in ('QUEUED', 'RETRY');
create index waiting_rows_that_were_tried on public.offline_conversion_queue (updated_at)
  where status in ('QUEUED', 'RETRY') and attempt_count > attempt_base;
create index queue_rows_of_a_sale on public.offline_conversion_queue (sale_id, kind);
create index waiting_rows_by_name on public.offline_conversion_queue (site_id, conversion_name)
  where status in ('QUEUED', 'RETRY') and conversion_name is not null
    and conversion_action is null and kind = 'CONVERSION';
create unique index one_open_row_per_sale_and_kind
  on public.offline_conversion_queue (sale_id, provider_key, kind)
  where status in ('QUEUED', 'RETRY', 'PROCESSING');
create index failed_rows_of_a_site on public.offline_conversion_queue (site_id, updated_at)
  where status = 'FAILED';
-- One index per order and per filter that can be rare, each with the status before the order, as
-- rows are read. These indexes exclude PROCESSING rows, which are found by their claim, so a claim
-- only removes entries. Enqueue and completion pay for them.
create index queue_rows_by_status
  on public.offline_conversion_queue (site_id, status, created_at desc, id desc)
  where status in ('QUEUED', 'RETRY', 'COMPLETED', 'FAILED');
create index queue_rows_by_change
  on public.offline_conversion_queue (site_id, status, updated_at desc, id desc)
  where status in ('QUEUED', 'RETRY', 'COMPLETED', 'FAILED');
create index queue_rows_by_channel
  on public.offline_conversion_queue (site_id, channel, status, created_at desc, id desc)
  where status in ('QUEUED', 'RETRY', 'COMPLETED', 'FAILED');
create index queue_rows_by_value on public.offline_conversion_queue (site_id, status, value_cents)
  where status in ('QUEUED', 'RETRY', 'COMPLETED', 'FAILED');
create index queue_rows_by_error_code on public.offline_conversion_queue
  (site_id, provider_error_code, status, created_at desc, id desc)
  where provider_error_code is not null;
create index queue_rows_by_error_category on public.offline_conversion_queue
  (site_id, provider_error_category, status, created_at desc, id desc)
  where provider_error_category is not null;
create index queue_adjustments
  on public.offline_conversion_queue (site_id, kind, created_at desc, id desc)
  where kind <> 'CONVERSION';
create index corrections_that_wait on public.offline_conversion_queue (site_id)
  where kind <> 'CONVERSION' and status in ('QUEUED', 'RETRY');   -- few: people make them
create index queue_rows_tried_again
  on public.offline_conversion_queue (site_id, status, attempt_count) where attempt_count > 1;
create index waiting_rows_by_due_time on public.offline_conversion_queue
  (site_id, status, greatest(not_before, next_retry_at)) where status in ('QUEUED', 'RETRY');
alter table public.offline_conversion_queue enable row level security;

create trigger queue_rows_are_never_deleted before delete on public.offline_conversion_queue
  for each row execute function private.refuse_change();
create trigger queue_is_never_truncated before truncate on public.offline_conversion_queue
  for each statement execute function private.refuse_change();
-- One order id is always one conversion at Google: one name, one time, one currency.
create trigger rows_stay_the_same_conversion
  before update of site_id, sale_id, kind, order_id, currency, conversion_time
  on public.offline_conversion_queue for each row execute function private.refuse_change();
create trigger rows_keep_their_name
  before update of conversion_name on public.offline_conversion_queue for each row
  when (old.conversion_name is not null
    and old.conversion_name is distinct from new.conversion_name)
  execute function private.refuse_change();
-- Once per statement, so that a batch of 500 costs one insert.
create trigger new_rows_are_recorded after insert on public.offline_conversion_queue
  referencing new table as after_rows
  for each statement execute function private.record_queue_transitions();
create trigger changes_are_recorded after update on public.offline_conversion_queue
  referencing old table as before_rows new table as after_rows
  for each statement execute function private.record_queue_transitions();
create trigger new_rows_are_counted after insert on public.offline_conversion_queue
  referencing new table as after_rows
  for each statement execute function private.count_new_queue_rows();
create trigger changes_are_counted after update on public.offline_conversion_queue
  referencing old table as before_rows new table as after_rows
  for each statement execute function private.count_changed_queue_rows();

-- require_sealed_sale: trigger; nothing unsealed is queued, whoever writes. A conversion needs
-- a sealed sale, a retraction a sale that Google has.
create function private.require_sealed_sale() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  if not exists (select from public.sales s
      where s.id = new.sale_id and s.site_id = new.site_id and s.delivery_block is null
        and case new.kind when 'RETRACT' then exists (
              select from private.standing_dispatches d where d.sale_id = s.id)
            else s.seal_status = 'sealed' end) then
    perform private.fail(409, 'SALE_NOT_SEALED');
  end if;
  return new;
end
$$;
create trigger only_sealed_sales_are_queued before insert on public.offline_conversion_queue
  for each row execute function private.require_sealed_sale();

-- take_channel: trigger; copies the lead's channel to the row. A filter that reads a call per row
-- cannot be fast.
create function private.take_channel() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  new.channel := (select c.channel from public.calls c where c.id = new.call_id);
  return new;
end
$$;
create trigger rows_take_the_channel before insert on public.offline_conversion_queue
  for each row execute function private.take_channel();
