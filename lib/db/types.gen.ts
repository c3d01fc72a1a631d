// Generated from the database by `npm run types:generate`; a test fails when it is not current. Do not edit.
import type { SiteId, SiteUuid } from "#lib/site.ts";

export type Json = string | number | boolean | null | { [key: string]: Json | undefined } | Json[];

/** The newest migration this code was written against. */
export const latestMigration = "20261116000000";

export interface Database {
  public: {
    Tables: Record<never, never>;
    Views: Record<never, never>;
    Functions: {
      accept_invitation: { Args: { p_invitation_id: string }; Returns: Json };
      account_to_ask: { Args: { p_email: string }; Returns: Json };
      ack_marketing_signals: { Args: { p_site_id: SiteUuid; p_ids: string[] }; Returns: Json };
      ack_offline_conversions: { Args: { p_site_id: SiteUuid; p_ids: string[]; p_key_id?: string }; Returns: Json };
      act_on_queue: { Args: { p_public_id: SiteId; p_action: Json; p_request_hash: string; p_key?: string }; Returns: Json };
      add_caller_number: { Args: { p_site_id: SiteUuid; p_intent_stamp: string; p_phone: string; p_caller: Json }; Returns: Json };
      add_lead_note: { Args: { p_public_id: SiteId; p_call_id: string; p_note: string }; Returns: Json };
      add_site_domain: { Args: { p_public_id: SiteId; p_host: string }; Returns: Json };
      admit_events: { Args: { p_site_id: SiteUuid; p_events: Json }; Returns: Json };
      amount_presets: { Args: { p_public_id: SiteId }; Returns: Json };
      api_key_site: { Args: { p_key_id: string }; Returns: Json };
      authenticate_api_key: { Args: { p_key_hash: string; p_scopes: string[] }; Returns: Json };
      billing_overview: { Args: { p_public_id: SiteId }; Returns: Json };
      block_provider: { Args: { p_site_id: SiteUuid; p_provider_key: string; p_code: string; p_message: string; p_credentials_version: number }; Returns: Json };
      call_event_secret: { Args: { p_public_id: SiteId }; Returns: Json };
      call_event_secrets: { Args: { p_public_id: SiteId }; Returns: Json };
      cancel_sale: { Args: { p_public_id: SiteId; p_cancel: Json; p_request_hash: string; p_key?: string }; Returns: Json };
      change_call: { Args: { p_public_id: SiteId; p_change: Json; p_request_hash: string; p_key?: string }; Returns: Json };
      change_member_role: { Args: { p_public_id: SiteId; p_user_id: string; p_role: Database["public"]["Enums"]["site_role"]; p_request_hash?: string; p_key?: string }; Returns: Json };
      claim_marketing_signal_jobs: { Args: { p_site_id: SiteUuid; p_provider_key: string; p_limit: number; p_max_attempts?: number }; Returns: Json };
      claim_marketing_signals: { Args: { p_site_id: SiteUuid; p_limit: number; p_max_attempts?: number }; Returns: Json };
      claim_offline_conversion_jobs_v2: { Args: { p_site_id: SiteUuid; p_provider_key: string; p_limit: number; p_max_attempts?: number }; Returns: Json };
      claim_offline_conversion_rows_for_script_export: { Args: { p_ids: string[]; p_site_id: SiteUuid; p_max_attempts?: number; p_key_id?: string }; Returns: Json };
      claim_verdict_polls: { Args: { p_limit: number; p_lease_seconds: number }; Returns: Json };
      complete_adjustment_by_hand: { Args: { p_public_id: SiteId; p_done: Json }; Returns: Json };
      confirm_sale: { Args: { p_public_id: SiteId; p_confirm: Json; p_request_hash: string; p_key?: string }; Returns: Json };
      confirm_sale_and_enqueue: { Args: { p_key_id: string; p_confirm: Json; p_request_hash: string; p_key?: string }; Returns: Json };
      connect_provider: { Args: { p_public_id: SiteId; p_connection: Json }; Returns: Json };
      consent_cost: { Args: { p_public_id: SiteId }; Returns: Json };
      conversion_job: { Args: { p_site_id: SiteUuid; p_id: string }; Returns: Json };
      correct_sale: { Args: { p_public_id: SiteId; p_correction: Json; p_request_hash: string; p_key?: string }; Returns: Json };
      count_drops: { Args: { p_site_id: SiteUuid; p_reason: string; p_drops: number }; Returns: Json };
      create_site: { Args: { p_name: string; p_domains: string[]; p_currency: string; p_timezone: string; p_locale: string; p_consent_mode: string; p_oci_sync_method?: string; p_settings?: Json }; Returns: Json };
      create_site_api_key: { Args: { p_public_id: SiteId; p_name: string; p_scopes?: string[] }; Returns: Json };
      database_readiness: { Args: Record<never, never>; Returns: Json };
      decline_invitation: { Args: { p_invitation_id: string }; Returns: Json };
      defer_offline_conversion_jobs: { Args: { p_site_id: SiteUuid; p_provider_key: string; p_limit: number; p_until: string; p_code: string; p_message: string; p_jitter_seconds?: number; p_max_attempts?: number }; Returns: Json };
      delete_my_account: { Args: Record<never, never>; Returns: Json };
      delivery_days: { Args: { p_public_id: SiteId; p_from?: string; p_to?: string }; Returns: Json };
      desk_figures: { Args: { p_public_id: SiteId; p_days?: number }; Returns: Json };
      desk_lead: { Args: { p_public_id: SiteId; p_call_id: string }; Returns: Json };
      desk_leads: { Args: { p_public_id: SiteId; p_filter?: Json }; Returns: Json };
      disconnect_provider: { Args: { p_public_id: SiteId }; Returns: Json };
      ensure_event_partitions: { Args: Record<never, never>; Returns: Json };
      erase_person: { Args: { p_public_id: SiteId; p_person: Json; p_receipt_id?: string }; Returns: Json };
      export_person: { Args: { p_public_id: SiteId; p_person: Json; p_after?: string }; Returns: Json };
      fail_marketing_signals: { Args: { p_site_id: SiteUuid; p_ids: string[]; p_category: string; p_message: string; p_max_attempts?: number; p_claims?: Json }; Returns: Json };
      fail_offline_conversions: { Args: { p_site_id: SiteUuid; p_ids: string[]; p_code: string; p_category: string; p_message: string; p_max_attempts?: number; p_key_id?: string; p_claims?: Json }; Returns: Json };
      fail_unexportable_rows: { Args: { p_site_id: SiteUuid; p_rows: Json; p_key_id?: string }; Returns: Json };
      fold_drops: { Args: Record<never, never>; Returns: Json };
      fold_queue_counts: { Args: Record<never, never>; Returns: Json };
      freeze_invoices: { Args: { p_year_month?: string; p_limit?: number }; Returns: Json };
      get_and_claim_fallback_batch: { Args: { p_limit?: number }; Returns: Json };
      get_export_page: { Args: { p_site_id: SiteUuid; p_max_attempts: number; p_limit?: number }; Returns: Json };
      get_invoice: { Args: { p_public_id: SiteId; p_year_month: string }; Returns: Json };
      get_pending_conversions_for_worker: { Args: { p_site_id: SiteUuid; p_limit?: number }; Returns: Json };
      get_proof: { Args: { p_proof_id: string }; Returns: Json };
      get_proof_for_key: { Args: { p_key_id: string; p_proof_id: string }; Returns: Json };
      get_site: { Args: { p_public_id: SiteId }; Returns: Json };
      import_sales: { Args: { p_public_id: SiteId; p_rows: Json; p_seal?: boolean }; Returns: Json };
      increment_provider_upload_metrics: { Args: { p_site_id: SiteUuid; p_provider_key: string; p_attempts: number; p_completed: number; p_failed: number; p_retry: number }; Returns: Json };
      ingest_status: { Args: { p_public_id: SiteId }; Returns: Json };
      invite_site_member: { Args: { p_public_id: SiteId; p_email: string; p_role: Database["public"]["Enums"]["site_role"]; p_request_hash?: string; p_key?: string }; Returns: Json };
      list_activity: { Args: { p_public_id: SiteId; p_filter?: Json }; Returns: Json };
      list_caller_hashes: { Args: { p_key_id: string; p_limit?: number }; Returns: Json };
      list_contract_moves: { Args: Record<never, never>; Returns: Json };
      list_counted_events: { Args: { p_public_id: SiteId; p_year_month?: string; p_cursor?: string; p_limit?: number }; Returns: Json };
      list_erasures: { Args: { p_public_id: SiteId }; Returns: Json };
      list_failed_events: { Args: { p_public_id: SiteId }; Returns: Json };
      list_invoices: { Args: { p_public_id: SiteId }; Returns: Json };
      list_my_sites: { Args: Record<never, never>; Returns: Json };
      list_offline_conversion_groups: { Args: { p_limit_groups?: number; p_max_attempts?: number }; Returns: Json };
      list_queue_actions: { Args: { p_public_id: SiteId }; Returns: Json };
      list_sales: { Args: { p_public_id: SiteId; p_filter?: Json }; Returns: Json };
      list_sealed_call_secrets: { Args: { p_key_id: string; p_limit?: number }; Returns: Json };
      list_sealed_credentials: { Args: { p_key_id: string; p_limit?: number }; Returns: Json };
      list_signal_groups: { Args: { p_limit_groups?: number; p_max_attempts?: number }; Returns: Json };
      list_site_api_keys: { Args: { p_public_id: SiteId }; Returns: Json };
      list_site_members: { Args: { p_public_id: SiteId }; Returns: Json };
      list_usage_origins: { Args: { p_public_id: SiteId; p_day?: string }; Returns: Json };
      my_account: { Args: Record<never, never>; Returns: Json };
      narrow_site_api_key: { Args: { p_public_id: SiteId; p_key_id: string; p_scopes: string[] }; Returns: Json };
      note_busy_days: { Args: { p_limit?: number }; Returns: Json };
      note_call_report: { Args: { p_public_id: SiteId; p_result: string }; Returns: Json };
      note_refused_origin: { Args: { p_site_id: SiteUuid; p_host: string; p_network?: string }; Returns: Json };
      oci_attempt_cap: { Args: { p_max_attempts?: number; p_min_age_minutes?: number }; Returns: Json };
      open_leads: { Args: Record<never, never>; Returns: Json };
      pause_sending: { Args: { p_public_id: SiteId; p_until?: string; p_reason?: string }; Returns: Json };
      phone_hashes: { Args: { p_public_id: SiteId; p_phones: string[] }; Returns: Json };
      preview_delivery_switch: { Args: { p_public_id: SiteId; p_to: string }; Returns: Json };
      preview_erasure: { Args: { p_public_id: SiteId; p_person: Json }; Returns: Json };
      preview_export_page: { Args: { p_public_id: SiteId; p_max_attempts: number; p_limit?: number }; Returns: Json };
      preview_import: { Args: { p_public_id: SiteId; p_rows: Json; p_taken?: string[] }; Returns: Json };
      preview_pause: { Args: { p_public_id: SiteId; p_until: string }; Returns: Json };
      preview_queue_action: { Args: { p_public_id: SiteId; p_action: string; p_filter: Json; p_max_attempts: number; p_unfixable?: string[] }; Returns: Json };
      provider_connection: { Args: { p_public_id: SiteId }; Returns: Json };
      provider_credentials_for: { Args: { p_site_id: SiteUuid; p_provider_key: string }; Returns: Json };
      purge_consent_choices: { Args: Record<never, never>; Returns: Json };
      purge_customer_hashes: { Args: Record<never, never>; Returns: Json };
      purge_dispatch_identifiers: { Args: Record<never, never>; Returns: Json };
      purge_expired_idempotency: { Args: { p_limit?: number }; Returns: Json };
      purge_expired_invitations: { Args: Record<never, never>; Returns: Json };
      purge_idempotency_keys: { Args: { p_limit?: number }; Returns: Json };
      purge_replaced_secrets: { Args: Record<never, never>; Returns: Json };
      purge_script_runs: { Args: Record<never, never>; Returns: Json };
      purge_stored_events: { Args: Record<never, never>; Returns: Json };
      purge_usage_origins: { Args: { p_limit?: number }; Returns: Json };
      queue_charts: { Args: { p_public_id: SiteId; p_range?: string }; Returns: Json };
      queue_row_story: { Args: { p_public_id: SiteId; p_id: string; p_max_attempts: number }; Returns: Json };
      queue_rows: { Args: { p_public_id: SiteId; p_max_attempts: number; p_filter?: Json; p_cursor?: string; p_limit?: number }; Returns: Json };
      queue_stats: { Args: { p_public_id?: SiteId }; Returns: Json };
      read_site_ceilings: { Args: { p_public_id: SiteId }; Returns: Json };
      reconcile_queue_counts: { Args: { p_limit?: number }; Returns: Json };
      reconcile_usage: { Args: { p_limit?: number }; Returns: Json };
      record_consent: { Args: { p_site_id: SiteUuid; p_choice: Json }; Returns: Json };
      record_consents: { Args: { p_site_id: SiteUuid; p_choices: Json; p_owed_only?: boolean }; Returns: Json };
      record_external_sale: { Args: { p_key_id: string; p_sale: Json; p_request_hash: string; p_key?: string }; Returns: Json };
      record_invitation_mail: { Args: { p_public_id: SiteId; p_invitation_id: string; p_mailed: boolean; p_request_hash: string; p_key: string }; Returns: Json };
      record_provider_outcome: { Args: { p_site_id: SiteUuid; p_provider_key: string; p_success: boolean; p_transient: boolean; p_probe?: string }; Returns: Json };
      record_provider_test: { Args: { p_site_id: SiteUuid; p_provider_key: string; p_version: number; p_ok: boolean; p_error?: Json; p_conversion_name?: string; p_passed?: string[] }; Returns: Json };
      record_script_run: { Args: { p_public_id: SiteId; p_run: Json }; Returns: Json };
      record_test: { Args: { p_site_id: SiteUuid; p_answer: Json }; Returns: Json };
      record_verdicts: { Args: { p_site_id: SiteUuid; p_request_id: string; p_answer: Json }; Returns: Json };
      record_wrong_keys: { Args: { p_tries: Json }; Returns: Json };
      recover_marketing_signals: { Args: { p_min_age_minutes?: number; p_max_attempts?: number }; Returns: Json };
      recover_stuck_offline_conversion_jobs: { Args: { p_min_age_minutes?: number }; Returns: Json };
      rekey_caller_hashes: { Args: { p_rows: Json }; Returns: Json };
      release_fallback_event: { Args: { p_token: string; p_id: string; p_reason: string }; Returns: Json };
      release_provider: { Args: { p_site_id: SiteUuid; p_provider_key: string }; Returns: Json };
      remove_member: { Args: { p_public_id: SiteId; p_user_id: string; p_request_hash?: string; p_key?: string }; Returns: Json };
      replace_call_event_secret: { Args: { p_public_id: SiteId; p_key_id: string; p_sealed: string }; Returns: Json };
      replay_failed_events: { Args: { p_public_id: SiteId; p_ids: string[] }; Returns: Json };
      reseal_call_secret: { Args: { p_site_id: SiteUuid; p_from: string; p_key_id: string; p_sealed: string }; Returns: Json };
      reseal_credentials: { Args: { p_site_id: SiteUuid; p_provider_key: string; p_version: number; p_key_id: string; p_sealed: string }; Returns: Json };
      revoke_site_api_key: { Args: { p_public_id: SiteId; p_key_id: string }; Returns: Json };
      run_retention: { Args: { p_periods: Json }; Returns: Json };
      script_status: { Args: { p_public_id: SiteId }; Returns: Json };
      seal_call: { Args: { p_public_id: SiteId; p_seal: Json; p_request_hash: string; p_key?: string }; Returns: Json };
      seal_proof_blocks: { Args: Record<never, never>; Returns: Json };
      search_sites: { Args: { p_text: string; p_first?: string }; Returns: Json };
      seed_provider_credentials: { Args: { p_site_id: SiteUuid; p_connection: Json }; Returns: Json };
      send_again: { Args: { p_public_id: SiteId; p_id: string }; Returns: Json };
      set_conversion_actions: { Args: { p_public_id: SiteId; p_actions: Json }; Returns: Json };
      set_lead_contact: { Args: { p_public_id: SiteId; p_call_id: string; p_contact: Json }; Returns: Json };
      set_lead_share: { Args: { p_public_id: SiteId; p_percent: number }; Returns: Json };
      set_site_archived: { Args: { p_public_id: SiteId; p_archived: boolean }; Returns: Json };
      set_site_ceilings: { Args: { p_public_id: SiteId; p_minute_max?: number; p_day_max?: number }; Returns: Json };
      set_site_delivery: { Args: { p_public_id: SiteId; p_settings: Json }; Returns: Json };
      set_site_privacy: { Args: { p_public_id: SiteId; p_consent_mode: string; p_respects_privacy_signal: boolean }; Returns: Json };
      set_site_retention: { Args: { p_public_id: SiteId; p_personal_months: number }; Returns: Json };
      settle_and_claim_conversion_jobs: { Args: { p_site_id: SiteUuid; p_provider_key: string; p_token: string; p_sent: Json; p_batch: Json; p_limit?: number; p_max_attempts?: number; p_after?: Json; p_ids?: string[]; p_indexes?: number[] }; Returns: Json };
      settle_marketing_signal_jobs: { Args: { p_site_id: SiteUuid; p_token: string; p_results: Json; p_batch?: Json; p_max_attempts?: number }; Returns: Json };
      settle_offline_conversion_jobs: { Args: { p_site_id: SiteUuid; p_token: string; p_results: Json; p_transport?: string; p_max_attempts?: number; p_batch?: Json }; Returns: Json };
      site_delivery: { Args: { p_public_id: SiteId }; Returns: Json };
      site_for_ingest: { Args: { p_public_id: SiteId }; Returns: Json };
      site_retention: { Args: { p_public_id: SiteId }; Returns: Json };
      site_setup: { Args: { p_public_id: SiteId }; Returns: Json };
      site_version: { Args: { p_public_id: SiteId; p_of: string }; Returns: Json };
      sites_overview: { Args: Record<never, never>; Returns: Json };
      skip_calls: { Args: { p_public_id: SiteId; p_skipped: boolean }; Returns: Json };
      store_events: { Args: { p_token: string; p_rows: Json }; Returns: Json };
      switch_delivery: { Args: { p_public_id: SiteId; p_to: string }; Returns: Json };
      test_conversion: { Args: { p_site_id: SiteUuid }; Returns: Json };
      transition_contract: { Args: { p_move: Json; p_key: string; p_request_hash: string }; Returns: Json };
      transition_contract_for_key: { Args: { p_key_id: string; p_move: Json; p_key: string; p_request_hash: string }; Returns: Json };
      undo_call: { Args: { p_public_id: SiteId; p_undo: Json; p_request_hash: string; p_key?: string }; Returns: Json };
      undo_queue_action: { Args: { p_public_id: SiteId; p_undo: Json; p_request_hash: string; p_key?: string }; Returns: Json };
      undo_sale: { Args: { p_public_id: SiteId; p_undo: Json; p_request_hash: string; p_key?: string }; Returns: Json };
      update_site: { Args: { p_public_id: SiteId; p_name: string; p_domains: string[]; p_currency: string; p_timezone: string; p_locale: string; p_default_aov_cents?: number }; Returns: Json };
      visitors_without_marketing: { Args: { p_site_id: SiteUuid; p_visitors: string[] }; Returns: Json };
      vouch_callers: { Args: { p_public_id: SiteId; p_callers: Json }; Returns: Json };
      why_not_counted: { Args: { p_public_id: SiteId; p_sale_id: string }; Returns: Json };
      withdraw_invitation: { Args: { p_public_id: SiteId; p_invitation_id: string; p_request_hash?: string; p_key?: string }; Returns: Json };
    };
    Enums: {
      site_role: "viewer" | "operator" | "owner";
    };
    CompositeTypes: Record<never, never>;
  };
}

/** What the service door may call, with argument names: they become SQL text, so nothing else is let through. */
export const serviceFunctions = {
  account_to_ask: ["p_email"],
  ack_marketing_signals: ["p_site_id", "p_ids"],
  ack_offline_conversions: ["p_site_id", "p_ids", "p_key_id"],
  add_caller_number: ["p_site_id", "p_intent_stamp", "p_phone", "p_caller"],
  admit_events: ["p_site_id", "p_events"],
  api_key_site: ["p_key_id"],
  authenticate_api_key: ["p_key_hash", "p_scopes"],
  block_provider: ["p_site_id", "p_provider_key", "p_code", "p_message", "p_credentials_version"],
  call_event_secrets: ["p_public_id"],
  claim_marketing_signal_jobs: ["p_site_id", "p_provider_key", "p_limit", "p_max_attempts"],
  claim_marketing_signals: ["p_site_id", "p_limit", "p_max_attempts"],
  claim_offline_conversion_jobs_v2: ["p_site_id", "p_provider_key", "p_limit", "p_max_attempts"],
  claim_offline_conversion_rows_for_script_export: ["p_ids", "p_site_id", "p_max_attempts", "p_key_id"],
  claim_verdict_polls: ["p_limit", "p_lease_seconds"],
  confirm_sale_and_enqueue: ["p_key_id", "p_confirm", "p_request_hash", "p_key"],
  conversion_job: ["p_site_id", "p_id"],
  count_drops: ["p_site_id", "p_reason", "p_drops"],
  database_readiness: [],
  defer_offline_conversion_jobs: ["p_site_id", "p_provider_key", "p_limit", "p_until", "p_code", "p_message", "p_jitter_seconds", "p_max_attempts"],
  ensure_event_partitions: [],
  fail_marketing_signals: ["p_site_id", "p_ids", "p_category", "p_message", "p_max_attempts", "p_claims"],
  fail_offline_conversions: ["p_site_id", "p_ids", "p_code", "p_category", "p_message", "p_max_attempts", "p_key_id", "p_claims"],
  fail_unexportable_rows: ["p_site_id", "p_rows", "p_key_id"],
  fold_drops: [],
  fold_queue_counts: [],
  freeze_invoices: ["p_year_month", "p_limit"],
  get_and_claim_fallback_batch: ["p_limit"],
  get_export_page: ["p_site_id", "p_max_attempts", "p_limit"],
  get_pending_conversions_for_worker: ["p_site_id", "p_limit"],
  get_proof_for_key: ["p_key_id", "p_proof_id"],
  increment_provider_upload_metrics: ["p_site_id", "p_provider_key", "p_attempts", "p_completed", "p_failed", "p_retry"],
  list_caller_hashes: ["p_key_id", "p_limit"],
  list_offline_conversion_groups: ["p_limit_groups", "p_max_attempts"],
  list_sealed_call_secrets: ["p_key_id", "p_limit"],
  list_sealed_credentials: ["p_key_id", "p_limit"],
  list_signal_groups: ["p_limit_groups", "p_max_attempts"],
  note_busy_days: ["p_limit"],
  note_call_report: ["p_public_id", "p_result"],
  note_refused_origin: ["p_site_id", "p_host", "p_network"],
  oci_attempt_cap: ["p_max_attempts", "p_min_age_minutes"],
  phone_hashes: ["p_public_id", "p_phones"],
  provider_credentials_for: ["p_site_id", "p_provider_key"],
  purge_consent_choices: [],
  purge_customer_hashes: [],
  purge_dispatch_identifiers: [],
  purge_expired_idempotency: ["p_limit"],
  purge_expired_invitations: [],
  purge_idempotency_keys: ["p_limit"],
  purge_replaced_secrets: [],
  purge_script_runs: [],
  purge_stored_events: [],
  purge_usage_origins: ["p_limit"],
  reconcile_queue_counts: ["p_limit"],
  reconcile_usage: ["p_limit"],
  record_consent: ["p_site_id", "p_choice"],
  record_consents: ["p_site_id", "p_choices", "p_owed_only"],
  record_external_sale: ["p_key_id", "p_sale", "p_request_hash", "p_key"],
  record_provider_outcome: ["p_site_id", "p_provider_key", "p_success", "p_transient", "p_probe"],
  record_provider_test: ["p_site_id", "p_provider_key", "p_version", "p_ok", "p_error", "p_conversion_name", "p_passed"],
  record_script_run: ["p_public_id", "p_run"],
  record_test: ["p_site_id", "p_answer"],
  record_verdicts: ["p_site_id", "p_request_id", "p_answer"],
  record_wrong_keys: ["p_tries"],
  recover_marketing_signals: ["p_min_age_minutes", "p_max_attempts"],
  recover_stuck_offline_conversion_jobs: ["p_min_age_minutes"],
  rekey_caller_hashes: ["p_rows"],
  release_fallback_event: ["p_token", "p_id", "p_reason"],
  release_provider: ["p_site_id", "p_provider_key"],
  reseal_call_secret: ["p_site_id", "p_from", "p_key_id", "p_sealed"],
  reseal_credentials: ["p_site_id", "p_provider_key", "p_version", "p_key_id", "p_sealed"],
  run_retention: ["p_periods"],
  seal_proof_blocks: [],
  seed_provider_credentials: ["p_site_id", "p_connection"],
  settle_and_claim_conversion_jobs: ["p_site_id", "p_provider_key", "p_token", "p_sent", "p_batch", "p_limit", "p_max_attempts", "p_after", "p_ids", "p_indexes"],
  settle_marketing_signal_jobs: ["p_site_id", "p_token", "p_results", "p_batch", "p_max_attempts"],
  settle_offline_conversion_jobs: ["p_site_id", "p_token", "p_results", "p_transport", "p_max_attempts", "p_batch"],
  site_for_ingest: ["p_public_id"],
  store_events: ["p_token", "p_rows"],
  test_conversion: ["p_site_id"],
  transition_contract_for_key: ["p_key_id", "p_move", "p_key", "p_request_hash"],
  visitors_without_marketing: ["p_site_id", "p_visitors"],
  vouch_callers: ["p_public_id", "p_callers"],
} as const;

/** What signed-in people may call through the session door. */
export type SessionFunction =
  | "accept_invitation"
  | "act_on_queue"
  | "add_lead_note"
  | "add_site_domain"
  | "amount_presets"
  | "billing_overview"
  | "call_event_secret"
  | "cancel_sale"
  | "change_call"
  | "change_member_role"
  | "complete_adjustment_by_hand"
  | "confirm_sale"
  | "connect_provider"
  | "consent_cost"
  | "correct_sale"
  | "create_site"
  | "create_site_api_key"
  | "decline_invitation"
  | "delete_my_account"
  | "delivery_days"
  | "desk_figures"
  | "desk_lead"
  | "desk_leads"
  | "disconnect_provider"
  | "erase_person"
  | "export_person"
  | "get_invoice"
  | "get_proof"
  | "get_site"
  | "import_sales"
  | "ingest_status"
  | "invite_site_member"
  | "list_activity"
  | "list_contract_moves"
  | "list_counted_events"
  | "list_erasures"
  | "list_failed_events"
  | "list_invoices"
  | "list_my_sites"
  | "list_queue_actions"
  | "list_sales"
  | "list_site_api_keys"
  | "list_site_members"
  | "list_usage_origins"
  | "my_account"
  | "narrow_site_api_key"
  | "open_leads"
  | "pause_sending"
  | "preview_delivery_switch"
  | "preview_erasure"
  | "preview_export_page"
  | "preview_import"
  | "preview_pause"
  | "preview_queue_action"
  | "provider_connection"
  | "queue_charts"
  | "queue_row_story"
  | "queue_rows"
  | "queue_stats"
  | "read_site_ceilings"
  | "record_invitation_mail"
  | "remove_member"
  | "replace_call_event_secret"
  | "replay_failed_events"
  | "revoke_site_api_key"
  | "script_status"
  | "seal_call"
  | "search_sites"
  | "send_again"
  | "set_conversion_actions"
  | "set_lead_contact"
  | "set_lead_share"
  | "set_site_archived"
  | "set_site_ceilings"
  | "set_site_delivery"
  | "set_site_privacy"
  | "set_site_retention"
  | "site_delivery"
  | "site_retention"
  | "site_setup"
  | "site_version"
  | "sites_overview"
  | "skip_calls"
  | "switch_delivery"
  | "transition_contract"
  | "undo_call"
  | "undo_queue_action"
  | "undo_sale"
  | "update_site"
  | "why_not_counted"
  | "withdraw_invitation";
