import { expect } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForScript, claimForWorker, minutesLater, moveConversion, readRow, sealLead } from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

export let db: TestDatabase;
export let script: Team;
export let api: Team;

/** To be called once by each test file, which has these sites to itself. */
export async function openStates(): Promise<void> {
  db = await createTestDatabase();
  script = await createQueueTeam(db.sql, "script");
  api = await createApiTeam(db.sql, "api", script.owner);
}

/** A row in a state, reached by the product's own functions: sealed at 0, claimed at 1, looked at from minute 40 on. */
export interface Subject {
  id: string;
  team: Team;
  token: string;
}
export const now = minutesLater(40);

export const starts = {
  QUEUED: async (team: Team) => subject(team, await sealed(team), ""),
  RETRY: async (team: Team) => {
    const row = await claimed(team, 1);
    await service(db.sql, "recover_stuck_offline_conversion_jobs", { p_min_age_minutes: 15 }, minutesLater(20));
    return row;
  },
  PROCESSING: (team: Team) => claimed(team, 39),
  "PROCESSING, 15 min old": (team: Team) => claimed(team, 1),
  "FAILED, to be tried again": async (team: Team) => {
    const row = await claimed(team, 1);
    await failed(row, "TRANSIENT");
    return row;
  },
  "FAILED for good": async (team: Team) => {
    const row = await claimed(team, 1);
    await failed(row, "VALIDATION");
    return row;
  },
  COMPLETED: async (team: Team) => {
    const row = await claimed(team, 1);
    await service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: [row.id] }, minutesLater(2));
    return row;
  },
};
export type Start = keyof typeof starts;

const subject = (team: Team, id: string, token: string): Subject => ({ team, id, token });
export const sealed = async (team: Team) => (await sealLead(db.sql, team)).id;
async function claimed(team: Team, minute: number): Promise<Subject> {
  const id = await sealed(team);
  const at = minutesLater(minute);
  const claim = team === api ? await claimForWorker(db.sql, team, { at }) : await claimForScript(db.sql, team, [id], at);
  return subject(team, id, claim.token);
}
const failed = ({ team, id }: Subject, category: string) =>
  service(
    db.sql,
    "fail_offline_conversions",
    { p_site_id: team.siteUuid, p_ids: [id], p_code: "X", p_category: category, p_message: "words" },
    minutesLater(2),
  );
const settle = ({ id, team, token }: Subject, result: Record<string, unknown>) =>
  service(
    db.sql,
    "settle_offline_conversion_jobs",
    { p_site_id: team.siteUuid, p_token: token || crypto.randomUUID(), p_results: [{ id, ...result }] },
    now,
  );

/** Every function that moves a row, and what it does from each state. A dash: the row stays as it is. */
export const functions: Record<string, { on: () => Team; run: (row: Subject) => Promise<unknown>; to: Record<Start, string> }> = {
  claim_offline_conversion_rows_for_script_export: {
    on: () => script,
    run: ({ id, team }) => claimForScript(db.sql, team, [id], now),
    to: row("PROCESSING", "PROCESSING", "—", "—", "—", "—", "—"),
  },
  claim_offline_conversion_jobs_v2: {
    on: () => api,
    run: ({ team }) => claimForWorker(db.sql, team, { at: now }),
    to: row("PROCESSING", "PROCESSING", "—", "—", "—", "—", "—"),
  },
  defer_offline_conversion_jobs: {
    on: () => api,
    run: ({ team }) =>
      service(
        db.sql,
        "defer_offline_conversion_jobs",
        {
          p_site_id: team.siteUuid,
          p_provider_key: "google_ads",
          p_limit: 10,
          p_until: minutesLater(50),
          p_code: "CIRCUIT_OPEN",
          p_message: "CIRCUIT_OPEN",
        },
        now,
      ),
    to: row("RETRY CIRCUIT_OPEN", "RETRY CIRCUIT_OPEN", "—", "—", "—", "—", "—"),
  },
  ack_offline_conversions: {
    on: () => script,
    run: ({ id, team }) => service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: [id] }, now),
    to: row("—", "COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED", "—"),
  },
  "fail_offline_conversions TRANSIENT": {
    on: () => script,
    run: (each) => failed(each, "TRANSIENT"),
    to: row("—", "—", "FAILED X, again later", "FAILED X, again later", "—", "—", "—"),
  },
  "fail_offline_conversions VALIDATION": {
    on: () => script,
    run: (each) => failed(each, "VALIDATION"),
    to: row("—", "—", "FAILED X", "FAILED X", "—", "—", "—"),
  },
  "settle_offline_conversion_jobs COMPLETED": {
    on: () => api,
    run: (each) => settle(each, { outcome: "COMPLETED", requestId: "r-1" }),
    to: row("—", "COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED", "—"),
  },
  "settle_offline_conversion_jobs COMPLETED, under another claim": {
    on: () => api,
    run: (each) => settle({ ...each, token: crypto.randomUUID() }, { outcome: "COMPLETED" }),
    to: row("—", "—", "—", "—", "—", "—", "—"),
  },
  "settle_offline_conversion_jobs RETRY": {
    on: () => api,
    run: (each) => settle(each, { outcome: "RETRY", category: "RATE_LIMIT", code: "429" }),
    to: row("—", "—", "RETRY 429, again later", "RETRY 429, again later", "—", "—", "—"),
  },
  "settle_offline_conversion_jobs RETRY, nobody answered": {
    on: () => api,
    run: (each) => settle(each, { outcome: "RETRY", category: "TRANSIENT", message: "socket hang up" }),
    to: row("—", "—", "RETRY, again later", "RETRY, again later", "—", "—", "—"),
  },
  "settle_offline_conversion_jobs RETRY, a wait that Google asks for": {
    on: () => api,
    run: (each) => settle(each, { outcome: "RETRY", category: "TRANSIENT", code: "TOO_RECENT_EVENT", free: true }),
    to: row("—", "—", "RETRY TOO_RECENT_EVENT, again later", "RETRY TOO_RECENT_EVENT, again later", "—", "—", "—"),
  },
  "settle_offline_conversion_jobs FAILED": {
    on: () => api,
    run: (each) => settle(each, { outcome: "FAILED", category: "VALIDATION", code: "INVALID_GCLID" }),
    to: row("—", "—", "FAILED INVALID_GCLID", "FAILED INVALID_GCLID", "—", "—", "—"),
  },
  "settle_offline_conversion_jobs RETRY, under another claim": {
    on: () => api,
    run: (each) => settle({ ...each, token: crypto.randomUUID() }, { outcome: "RETRY", category: "TRANSIENT", code: "500" }),
    to: row("—", "—", "—", "—", "—", "—", "—"),
  },
  fail_unexportable_rows: {
    on: () => script,
    run: ({ id, team }) =>
      service(db.sql, "fail_unexportable_rows", { p_site_id: team.siteUuid, p_rows: [{ id, code: "NO_CLICK_ID", message: "w" }] }, now),
    to: row("FAILED NO_CLICK_ID", "FAILED NO_CLICK_ID", "—", "—", "—", "—", "—"),
  },
  recover_stuck_offline_conversion_jobs: {
    on: () => script,
    run: () => service(db.sql, "recover_stuck_offline_conversion_jobs", { p_min_age_minutes: 15 }, now),
    to: row("—", "—", "—", "RETRY", "RETRY X", "—", "—"),
  },
  "recover_stuck_offline_conversion_jobs, 90 days on": {
    on: () => script,
    run: () => service(db.sql, "recover_stuck_offline_conversion_jobs", { p_min_age_minutes: 15 }, minutesLater(91 * 1440)),
    to: row(
      "FAILED CLICK_EXPIRED",
      "FAILED CLICK_EXPIRED",
      "FAILED CLICK_EXPIRED",
      "FAILED CLICK_EXPIRED",
      "FAILED CLICK_EXPIRED",
      "—",
      "—",
    ),
  },
  "oci_attempt_cap, attempts used up": {
    on: () => script,
    run: () => service(db.sql, "oci_attempt_cap", { p_max_attempts: 1, p_min_age_minutes: 0 }, now),
    to: row("—", "FAILED MAX_ATTEMPTS", "—", "FAILED MAX_ATTEMPTS", "—", "—", "—"),
  },
  "oci_attempt_cap, attempts left": {
    on: () => script,
    run: () => service(db.sql, "oci_attempt_cap", { p_max_attempts: 5, p_min_age_minutes: 0 }, now),
    to: row("—", "—", "—", "—", "—", "—", "—"),
  },
  "transition_contract to QUEUED (RETRY_SELECTED, RESET_TO_QUEUED)": {
    on: () => script,
    run: ({ id, team }) => moveConversion(db.sql, team, { id, to: "QUEUED" }, now),
    to: row("QUEUED", "QUEUED", "QUEUED", "QUEUED", "QUEUED X", "QUEUED X", "—"),
  },
  "transition_contract to FAILED (MARK_FAILED)": {
    on: () => script,
    run: ({ id, team }) => moveConversion(db.sql, team, { id, to: "FAILED" }, now),
    to: row("FAILED MANUAL_FAIL", "FAILED MANUAL_FAIL", "FAILED MANUAL_FAIL", "FAILED MANUAL_FAIL", "—", "—", "—"),
  },
  "cancel_sale, which closes what waits": {
    on: () => script,
    run: async ({ id, team }) => change(db.sql, { team }, "cancel_sale", { id: (await readRow(db.sql, id)).sale_id }, { at: now }),
    to: row("FAILED SALE_CANCELLED", "FAILED SALE_CANCELLED", "—", "—", "FAILED SALE_CANCELLED", "—", "—"),
  },
  "send_again, of a conversion that Google did not leave in doubt": {
    on: () => script,
    run: ({ id, team }) =>
      callAs(db.sql, team.operator, (tx) => tx`select public.send_again(${team.siteId}, ${id})`, now).catch((error: { message: string }) =>
        expect(error.message).toBe("ILLEGAL_MOVE"),
      ),
    to: row("—", "—", "—", "—", "—", "—", "—"),
  },
  "release_provider, of what access was refused": {
    on: () => api,
    run: async (each) => {
      await settle(each, { outcome: "FAILED", code: "invalid_grant", category: "AUTH" });
      await service(db.sql, "release_provider", { p_site_id: each.team.siteUuid, p_provider_key: "google_ads" }, now);
    },
    to: row("—", "—", "QUEUED invalid_grant", "QUEUED invalid_grant", "—", "—", "—"),
  },
  "complete_adjustment_by_hand, of a conversion": {
    on: () => script,
    run: ({ id, team }) =>
      callAs(
        db.sql,
        team.operator,
        (tx) => tx`select public.complete_adjustment_by_hand(${team.siteId}, ${tx.json({ id, valueCents: 1 })})`,
        now,
      ).catch((error: { message: string }) => expect(error.message).toBe("ILLEGAL_MOVE")),
    to: row("—", "—", "—", "—", "—", "—", "—"),
  },
};

function row(...to: [string, string, string, string, string, string, string]): Record<Start, string> {
  return Object.fromEntries(Object.keys(starts).map((start, index) => [start, to[index]])) as Record<Start, string>;
}
