import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serviceFunctions } from "#lib/db/types.gen.ts";
import { createTestDatabase, type TestDatabase, templateName } from "#tests/support/test-database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

/** What signed-in people may call. A line is added here on purpose, by someone who has thought about who calls it. */
const grantedToUsers = [
  "accept_invitation",
  "act_on_queue",
  "add_lead_note",
  "add_site_domain",
  "amount_presets",
  "billing_overview",
  "call_event_secret",
  "cancel_sale",
  "change_call",
  "change_member_role",
  "complete_adjustment_by_hand",
  "confirm_sale",
  "connect_provider",
  "consent_cost",
  "correct_sale",
  "create_site",
  "create_site_api_key",
  "decline_invitation",
  "delete_my_account",
  "delivery_days",
  "desk_figures",
  "desk_lead",
  "desk_leads",
  "disconnect_provider",
  "erase_person",
  "export_person",
  "get_invoice",
  "get_proof",
  "get_site",
  "has_site_role",
  "import_sales",
  "ingest_status",
  "invite_site_member",
  "list_activity",
  "list_contract_moves",
  "list_counted_events",
  "list_erasures",
  "list_failed_events",
  "list_invoices",
  "list_my_sites",
  "list_queue_actions",
  "list_sales",
  "list_site_api_keys",
  "list_site_members",
  "list_usage_origins",
  "my_account",
  "narrow_site_api_key",
  "open_leads",
  "pause_sending",
  "preview_delivery_switch",
  "preview_erasure",
  "preview_export_page",
  "preview_import",
  "preview_pause",
  "preview_queue_action",
  "provider_connection",
  "queue_charts",
  "queue_row_story",
  "queue_rows",
  "queue_stats",
  "read_site_ceilings",
  "record_invitation_mail",
  "remove_member",
  "replace_call_event_secret",
  "replay_failed_events",
  "revoke_site_api_key",
  "script_status",
  "seal_call",
  "search_sites",
  "send_again",
  "set_conversion_actions",
  "set_lead_contact",
  "set_lead_share",
  "set_site_archived",
  "set_site_ceilings",
  "set_site_delivery",
  "set_site_privacy",
  "set_site_retention",
  "site_delivery",
  "site_retention",
  "site_setup",
  "site_version",
  "sites_overview",
  "skip_calls",
  "switch_delivery",
  "transition_contract",
  "undo_call",
  "undo_queue_action",
  "undo_sale",
  "update_site",
  "why_not_counted",
  "withdraw_invitation",
];
const grantedToServices = [
  "account_to_ask",
  "ack_marketing_signals",
  "ack_offline_conversions",
  "add_caller_number",
  "admit_events",
  "api_key_site",
  "authenticate_api_key",
  "block_provider",
  "call_event_secrets",
  "claim_marketing_signal_jobs",
  "claim_marketing_signals",
  "claim_offline_conversion_jobs_v2",
  "claim_offline_conversion_rows_for_script_export",
  "claim_verdict_polls",
  "confirm_sale_and_enqueue",
  "conversion_job",
  "count_drops",
  "database_readiness",
  "defer_offline_conversion_jobs",
  "ensure_event_partitions",
  "fail_marketing_signals",
  "fail_offline_conversions",
  "fail_unexportable_rows",
  "fold_drops",
  "fold_queue_counts",
  "freeze_invoices",
  "get_and_claim_fallback_batch",
  "get_export_page",
  "get_pending_conversions_for_worker",
  "get_proof_for_key",
  "increment_provider_upload_metrics",
  "list_caller_hashes",
  "list_offline_conversion_groups",
  "list_sealed_call_secrets",
  "list_sealed_credentials",
  "list_signal_groups",
  "note_busy_days",
  "note_call_report",
  "note_refused_origin",
  "oci_attempt_cap",
  "phone_hashes",
  "provider_credentials_for",
  "purge_consent_choices",
  "purge_customer_hashes",
  "purge_dispatch_identifiers",
  "purge_expired_idempotency",
  "purge_expired_invitations",
  "purge_idempotency_keys",
  "purge_replaced_secrets",
  "purge_script_runs",
  "purge_stored_events",
  "purge_usage_origins",
  "reconcile_queue_counts",
  "reconcile_usage",
  "record_consent",
  "record_consents",
  "record_external_sale",
  "record_provider_outcome",
  "record_provider_test",
  "record_script_run",
  "record_test",
  "record_verdicts",
  "record_wrong_keys",
  "recover_marketing_signals",
  "recover_stuck_offline_conversion_jobs",
  "rekey_caller_hashes",
  "release_fallback_event",
  "release_provider",
  "reseal_call_secret",
  "reseal_credentials",
  "run_retention",
  "seal_proof_blocks",
  "seed_provider_credentials",
  "settle_and_claim_conversion_jobs",
  "settle_marketing_signal_jobs",
  "settle_offline_conversion_jobs",
  "site_for_ingest",
  "store_events",
  "test_conversion",
  "transition_contract_for_key",
  "visitors_without_marketing",
  "vouch_callers",
];

async function executableBy(role: string): Promise<string[]> {
  const rows = await db.sql<{ name: string }[]>`
    select p.proname as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('public', 'private') and has_function_privilege(${role}, p.oid, 'execute') order by 1`;
  return rows.map((row) => row.name);
}

// Guarantee: a new function reaches nobody until a grant names it; a forgotten revoke cannot open the database.
test("each role may execute exactly the functions on its list", async () => {
  expect(await executableBy("anon")).toEqual([]);
  expect(await executableBy("authenticated")).toEqual(grantedToUsers);
  const withDefaults = [...grantedToServices, "max_attempts"].toSorted();
  expect(await executableBy("opsmantik_app")).toEqual(withDefaults);
  expect(await executableBy("service_role")).toEqual(withDefaults);
  expect(Object.keys(serviceFunctions)).toEqual(grantedToServices);
});

// Guarantee: a runbook's call without the arguments that have a default works for every role that may call the function.
// Mutation that breaks it: revoke max_attempts, which the defaults call.
test.each(["opsmantik_app", "service_role"])("%s may leave out arguments that have a default", async (role) => {
  const answer = db.sql.begin(async (tx) => {
    await tx`set local role ${tx(role)}`;
    return tx`select public.list_offline_conversion_groups() as groups, public.oci_attempt_cap() as cap`;
  });
  expect(await answer).toMatchObject([{ groups: [], cap: { capped: 0 } }]);
});

// Guarantee: a table added without row level security would show every tenant's rows to every signed-in user.
test("every table has row level security, and no role can write one directly", async () => {
  const open = await db.sql`
    select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('public', 'private') and c.relkind in ('r', 'p') and not c.relrowsecurity`;
  expect(open.map((row) => row.name)).toEqual([]);
  const writable = await db.sql`
    select c.oid::regclass::text as name, r.role from pg_class c join pg_namespace n on n.oid = c.relnamespace
    cross join unnest(array['anon', 'authenticated', 'service_role', 'opsmantik_app']) r(role)
    where n.nspname in ('public', 'private') and c.relkind in ('r', 'p', 'v', 'm')
      and has_table_privilege(r.role, c.oid, 'insert, update, delete, truncate, references, trigger')`;
  expect(writable).toEqual([]);
});

// Guarantee: a definer function with a caller's search_path runs the caller's objects with the owner's rights.
test("every function of ours pins its search path, and those that are granted return one jsonb, or a claim's json", async () => {
  // These run with their caller's rights and name pg_catalog throughout; pinned, they could not be inlined.
  const loose = await db.sql`
    select p.oid::regprocedure::text as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('public', 'private') and not coalesce(p.proconfig, '{}') @> array['search_path=""'] order by 1`;
  expect(loose.map((row) => row.name)).toEqual([
    "private.api_never_adjusts(text)",
    "private.awaits_person(calls)",
    "private.click_kind(sales)",
    "private.current_moment()",
    "private.framed(text)",
    "private.hour_of(timestamp with time zone)",
    "private.identifiers_hash(uuid,text,text,text,text,text)",
    "private.mark_of(uuid,text,text)",
    "private.may_send(sales,text)",
    "private.next_move_id()",
    "private.provider_lock(uuid,text)",
    "private.quarter_of(timestamp with time zone)",
    "private.retry_delay(integer)",
    "private.sale_facts(sales)",
    "private.uuid_v7()",
    "private.waits_for_person(text,text,text,text)",
  ]);
  const other = await db.sql`
    select p.proname as name from pg_proc p
    where p.pronamespace = 'public'::regnamespace and p.prorettype <> 'jsonb'::regtype and p.proname <> 'has_site_role'`;
  // The same text on its way to the caller, for less: see docs/decisions/queue.md.
  expect(other.map((row) => row.name).toSorted()).toEqual(["claim_offline_conversion_jobs_v2", "settle_and_claim_conversion_jobs"]);
});

// Guarantee: whoever steals the app's database password can call its functions, and read or change nothing else.
test.each([
  ["reads a table", "select * from public.sites"],
  ["reads accounts", "select * from auth.users"],
  ["reads secrets", "select * from private.site_secrets"],
  ["calls a user's function", "select public.list_my_sites()"],
  ["creates a table", "create table public.mine (id int)"],
  ["becomes the service role", "set role service_role"],
  ["reads passwords", "select rolpassword from pg_authid"],
])("the app's role is refused when it %s", async (_name, statement) => {
  const app = postgres(db.appUrl, { max: 1, onnotice: () => {} });
  try {
    await expect(app.unsafe(statement)).rejects.toMatchObject({ code: "42501" });
  } finally {
    await app.end();
  }
});

test("the app's role cannot make temporary tables, and its statements end by themselves", async () => {
  const [row] = await db.sql`select has_database_privilege('opsmantik_app', ${templateName}, 'temporary') as temporary,
    (select array_to_string(rolconfig, ',') from pg_roles where rolname = 'opsmantik_app') as settings`;
  expect(row?.temporary).toBe(false);
  expect(row?.settings).toContain("statement_timeout=15s");
});

// Guarantee: nobody's statement holds the database for longer than this, whichever door it comes through.
test("statements of people, strangers and the service key end by themselves", async () => {
  const rows = await db.sql`select rolname, array_to_string(rolconfig, ',') as settings from pg_roles
    where rolname in ('anon', 'authenticated', 'service_role') order by 1`;
  expect(rows.map(({ rolname, settings }) => [rolname, /statement_timeout=(\w+)/.exec(settings)?.[1]])).toEqual([
    ["anon", "3s"],
    ["authenticated", "8s"],
    ["service_role", "15s"],
  ]);
});
