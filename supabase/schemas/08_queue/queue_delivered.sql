-- The part of the queue that was delivered. A delivered row is the record of what was handed over:
-- provider_dispatches shows it as such. Only what the provider says of it later is added.

create table private.queue_delivered partition of public.offline_conversion_queue (
  primary key (id),
  uploaded_at not null,
  status default 'COMPLETED',
  conversion_name not null,
  -- Data Manager would take a value of 0 as a conversion worth 0, and keep counting it.
  constraint data_manager_cannot_retract check (kind <> 'RETRACT' or transport <> 'data_manager')
) for values in ('COMPLETED')
with (autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05);
alter table private.queue_delivered enable row level security;

create index delivered_rows_of_a_sale on private.queue_delivered (sale_id, uploaded_at);
create index idx_offline_conversion_queue_uploaded_at on private.queue_delivered
  (site_id, provider_key, uploaded_at);
create index delivered_rows on private.queue_delivered (site_id, created_at, id);
create index delivered_rows_by_change on private.queue_delivered
  (site_id, updated_at, id);
create index delivered_rows_by_channel on private.queue_delivered
  (site_id, channel, created_at, id);
create index delivered_rows_by_value on private.queue_delivered (site_id, value_cents);
create index delivered_adjustments on private.queue_delivered
  (site_id, kind, created_at, id) where kind <> 'CONVERSION';
create index verdicts_of_a_site on private.queue_delivered (site_id, verdict_at)
  where verdict_at is not null;
create index delivered_rows_not_confirmed on private.queue_delivered
  (site_id, verdict, uploaded_at)
  where verdict in ('REJECTED', 'DUPLICATE', 'UNKNOWN');
create index delivered_rows_tried_again on private.queue_delivered (site_id, attempt_count)
  where attempt_count > 1;

create trigger delivered_rows_are_permanent before delete on private.queue_delivered
  for each row execute function private.refuse_change();
create trigger delivered_rows_are_never_truncated before truncate on private.queue_delivered
  for each statement execute function private.refuse_change();
create trigger delivered_rows_say_what_was_sent
  before update of id, site_id, sale_id, snapshot_id, kind, provider_key, status, transport,
    order_id, conversion_name, conversion_action, conversion_time, value_cents, currency,
    identifiers_hash, click_kind, record_index, uploaded_at, claim_token, provider_error_code,
    provider_error_category, last_error   -- which a delivered row has not
  on private.queue_delivered for each row execute function private.refuse_change();
