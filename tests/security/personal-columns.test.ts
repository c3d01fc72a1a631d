import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

/**
 * Every column that can hold text, of every table that is about visitors, leads and sales. `erased`: erasing a person empties or deletes it.
 * `kept`: it cannot name a person. erase.test.ts searches the whole database after an erase; this list makes whoever adds a column say which it is.
 */
const columns: Record<string, { erased: string; kept: string }> = {
  "public.calls": {
    erased: "visitor_id phone caller_hash caller_key_id contact_name gclid wbraid gbraid page_url",
    // intent_stamp: the event's own random id. A late report must still find the erased call, to be left out.
    kept: "reported_by intent_stamp channel status seal_status score_breakdown",
  },
  "public.sessions": { erased: "visitor_id landing_url referrer device country city utm gclid wbraid gbraid", kept: "" },
  "private.events": { erased: "category action label url", kept: "" },
  "public.consent_choices": { erased: "visitor_id scopes page_url", kept: "" },
  "private.click_sightings": { erased: "visitor_id click_hash", kept: "" },
  "private.held_reports": { erased: "intent_stamp report", kept: "" },
  "public.ingest_fallback_buffer": { erased: "payload last_error", kept: "status" },
  // The bill: random ids, a hash with the time in it, and a name without its label.
  "public.ingest_idempotency": { erased: "", kept: "idempotency_key eid event_name" },
  "public.sales": {
    erased: "gclid wbraid gbraid customer_hash caller_hash caller_key_id email_hash note external_hash",
    // external_ref: the till's number of the sale, by which it is found there.
    kept: "external_ref status seal_status order_id currency value_source delivery_block matched_by",
  },
  "private.proof_notes": { erased: "note", kept: "" },
  "public.dispatch_identifiers": { erased: "gclid wbraid gbraid customer_hash email_hash", kept: "" },
  "public.queue_actions": { erased: "reason filter", kept: "actor_kind action options" },
  "public.queue_action_previews": { erased: "filter", kept: "action digest" },
  "private.queue_action_rows": { erased: "before after", kept: "skipped" },
  "public.offline_conversion_queue": {
    erased: "last_error attempt_error",
    kept:
      "provider_key kind state status order_id currency conversion_name conversion_action identifiers_hash click_kind claimed_from handed_via provider_error_code " +
      "provider_error_category attempt_error_code attempt_error_category by_hand_reason provider_request_id channel transport verdict verdict_reason",
  },
  "public.marketing_signals": {
    erased: "last_error",
    kept:
      "signal_type currency dispatch_status order_id conversion_name conversion_action provider_error_code provider_error_category transport " +
      "provider_request_id verdict verdict_reason",
  },
};

/** Tables of settings, members, money, proofs and running figures: ids, amounts, codes, ranges and hashes, nothing of a visitor. */
const withoutPeople = `
  private.action_names private.call_reports private.refused_origins private.setup_tests private.setup_ticks private.assumed_dispatches private.billing_credits private.counted_days private.delivery_turns private.erased_marks private.finished_batches private.person_addresses private.plan_changes
  private.queue_batch_moves private.queue_check private.queue_check_counts private.queue_count_checks private.queue_count_deltas private.queue_counts private.queue_leases
  private.queue_moves private.queue_outcomes private.retention_progress private.site_secrets private.upload_metric_deltas private.upload_metric_totals private.usage_origins private.lead_room_taken private.voucher_key public.contract_moves public.contracts public.erasure_receipts
  public.hos_idempotency_keys public.ingest_drop_deltas public.ingest_drops_daily public.invoices public.proof_blocks
  public.provider_conversion_actions public.provider_credentials public.provider_health_state
  public.provider_requests public.revenue_snapshots
  public.script_runs public.site_api_keys public.site_invitations public.site_plans public.site_usage_monthly public.sites
  public.transition_proofs`;

const names = (text: string) => text.split(/\s+/).filter((name) => name !== "");

// Guarantee: nobody adds a place for personal data that an erase does not know.
test("every column that can hold text is on the list, with what an erase does to it", async () => {
  const found = await db.sql`
    select format('%s.%s', n.nspname, c.relname) as table, array_agg(a.attname::text order by a.attname) as columns
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    join pg_type t on t.oid = a.atttypid
    where c.relkind in ('r', 'p') and not c.relispartition and n.nspname in ('public', 'private')
      and coalesce(nullif(t.typbasetype, 0), t.oid)::regtype::text in ('text', 'text[]', 'jsonb', 'jsonb[]', 'json', 'bytea', 'character varying', 'inet')
    group by 1 order by 1`;
  const listed = Object.entries(columns).map(([table, { erased, kept }]) => ({ table, columns: names(`${erased} ${kept}`).sort() }));
  const plain = new Set(names(withoutPeople));
  expect(found.filter(({ table }) => !plain.has(table)).map((row) => ({ ...row }))).toEqual(
    listed.sort((one, other) => (one.table < other.table ? -1 : 1)),
  );
  expect([...plain].filter((table) => !found.some((row) => row.table === table))).toEqual([]);
});
