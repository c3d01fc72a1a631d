-- What columns of the queue and of its delivery may hold. As domains, not as CHECKs of the tables:
-- Postgres parses each CHECK of a table again for every statement, which was an eighth of a claim
-- of one row.

create domain private.queue_kind as text
  constraint kind_is_known check (value in ('CONVERSION', 'RESTATE', 'RETRACT'));
create domain private.error_category as text
  constraint error_category_is_known check (value in
    ('VALIDATION', 'AUTH', 'TRANSIENT', 'RATE_LIMIT', 'PERMANENT', 'DETERMINISTIC_SKIP'));
create domain private.error_code as text
  constraint error_codes_are_bounded check (char_length(value) <= 64);
create domain private.error_message as text
  constraint error_messages_are_bounded check (char_length(value) <= 1024);
create domain private.provider_text as text
  constraint provider_texts_are_bounded check (char_length(value) <= 256);
create domain private.free_waits as int
  constraint free_waits_are_bounded check (value between 0 and 20);
create domain private.row_count as int
  constraint counts_are_not_negative check (value >= 0);
create domain private.request_id as text
  constraint request_id_is_bounded check (char_length(value) between 1 and 256);
create domain private.by_hand_reason as text
  constraint by_hand_reason_is_known check (value in
    ('NO_ADS_API_ACCESS', 'SENT_BY_SCRIPT', 'WBRAID_ONLY', 'NO_VERDICT', 'OTHER_ACCOUNT'));
create domain private.transport as text
  constraint transport_is_known check (value in ('script', 'data_manager', 'ads_api', 'by_hand'));
create domain private.verdict as text
  constraint verdict_is_known check (value in ('CONFIRMED', 'REJECTED', 'DUPLICATE', 'UNKNOWN'));
create domain private.attempt_category as text
  constraint attempt_category_is_known
    check (value in ('VALIDATION', 'AUTH', 'TRANSIENT', 'RATE_LIMIT'));
create domain private.upload_pipeline as text
  constraint pipeline_is_known check (value in ('seals', 'signals'));
create domain private.request_status as text
  constraint request_status_is_known
    check (value in ('PROCESSING', 'SUCCESS', 'PARTIAL_SUCCESS', 'FAILED', 'LOST'));
