-- The part of the queue that was delivered. Its rows never change, but for the moment at which
-- somebody last learned something of them.

create table private.queue_delivered partition of public.offline_conversion_queue (
  primary key (id),
  constraint completed_rows_were_uploaded check (uploaded_at is not null and claim_token is null),
  constraint completed_rows_have_no_error check (
    num_nonnulls(provider_error_code, provider_error_category, last_error) = 0)
) for values in ('COMPLETED')
with (autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05);
alter table private.queue_delivered enable row level security;

create index delivered_rows_of_a_sale on private.queue_delivered (sale_id, kind);
create index idx_offline_conversion_queue_uploaded_at on private.queue_delivered
  (site_id, provider_key, uploaded_at);
create index delivered_rows on private.queue_delivered (site_id, created_at desc, id desc);
create index delivered_rows_by_change on private.queue_delivered
  (site_id, updated_at desc, id desc);
create index delivered_rows_by_channel on private.queue_delivered
  (site_id, channel, created_at desc, id desc);
create index delivered_rows_by_value on private.queue_delivered (site_id, value_cents);
create index delivered_adjustments on private.queue_delivered
  (site_id, kind, created_at desc, id desc) where kind <> 'CONVERSION';
create index delivered_rows_tried_again on private.queue_delivered (site_id, attempt_count)
  where attempt_count > 1;

create trigger delivered_rows_are_permanent before delete on private.queue_delivered
  for each row execute function private.refuse_change();
create trigger delivered_rows_are_never_truncated before truncate on private.queue_delivered
  for each statement execute function private.refuse_change();
