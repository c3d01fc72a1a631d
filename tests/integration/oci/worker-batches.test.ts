import type postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { become } from "#tests/fixtures/act-as.ts";
import {
  claimForWorker,
  listGroups,
  minutesLater,
  type Result,
  readRow,
  sealLead,
  settleClaim,
  type WorkerClaim,
} from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { callIn, service } from "#tests/fixtures/service.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { openCircuit, readHealth } from "#tests/support/circuit.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let db: TestDatabase;
let owner: Person;
let team: Team;
let teams = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  owner = await createPerson(db.sql, "owner@answers.test");
});
beforeEach(async () => {
  team = await createApiTeam(db.sql, `answers-${++teams}`, owner);
});
afterAll(() => db.drop());

const claim = (minute: number, limit?: number) =>
  claimForWorker(db.sql, team, { at: minutesLater(minute), ...(limit !== undefined && { limit }) });
async function failFiveTimes(tx: postgres.TransactionSql): Promise<void> {
  await tx`select set_config('opsmantik.now', ${minutesLater(7).toISOString()}, true)`;
  const failure = { p_site_id: team.siteUuid, p_provider_key: "google_ads", p_success: false, p_transient: true };
  for (let n = 0; n < 5; n++) await callIn(tx, "record_provider_outcome", failure);
}
async function disconnect(tx: postgres.TransactionSql): Promise<void> {
  await become(tx, team.owner.id, minutesLater(7));
  await tx`select public.disconnect_provider(${team.siteId})`;
}
const settle = (claimed: WorkerClaim, result: Result, minute: number, batch?: Record<string, unknown>) =>
  settleClaim(db.sql, team, claimed, result, { at: minutesLater(minute), ...(batch && { batch }) });
const defer = (code: string, minute: number, until = minute + 5) =>
  service(
    db.sql,
    "defer_offline_conversion_jobs",
    { p_site_id: team.siteUuid, p_provider_key: "google_ads", p_limit: 100, p_until: minutesLater(until), p_code: code, p_message: code },
    minutesLater(minute),
  );
const unavailable: Result = { outcome: "RETRY", category: "TRANSIENT", code: "UNAVAILABLE", message: "try later" };

const ledgerOf = (token: string) =>
  db.sql`select phase, claimed_count as claimed, completed_count as completed, failed_count as failed, retry_count as retried, error_code as code
    from public.provider_upload_attempts where batch_id = ${token} order by id`;

// Guarantee: every hand-out is on the ledger, and ends there, in the transaction that moved the rows.
describe("a batch", () => {
  test("starts with the claim and finishes with the answer, once", async () => {
    for (let n = 0; n < 3; n++) await sealLead(db.sql, team);
    const claimed = await claim(1);
    expect(claimed).toMatchObject({ gate: "CLOSED", batch: { credentialsVersion: 1 } });
    expect(await ledgerOf(claimed.token)).toMatchObject([{ phase: "STARTED", claimed: 3 }]);
    const answer = (_row: unknown, index: number): Result =>
      [{ outcome: "COMPLETED" } as Result, unavailable, { outcome: "FAILED", category: "VALIDATION", code: "INVALID_GCLID" } as Result][
        index
      ] ?? unavailable;
    const settled = () =>
      settleClaim(db.sql, team, claimed, answer, { at: minutesLater(2), batch: { outcome: "success", durationMs: 40, requestId: "r-1" } });
    expect(await settled()).toEqual({ completed: 1, retried: 1, failed: 1, stale: 0 });
    await settled();
    expect(await ledgerOf(claimed.token)).toMatchObject([
      { phase: "STARTED", claimed: 3 },
      { phase: "FINISHED", completed: 1, failed: 1, retried: 1 },
    ]);
    const [metrics] =
      await db.sql`select attempts_total::int as attempts, completed_total::int as completed from public.provider_upload_metrics
      where site_id = ${team.siteUuid}`;
    expect({ ...metrics }).toEqual({ attempts: 3, completed: 1 });
  });

  test("without rows is on no ledger; a deferral is, with both lines", async () => {
    const { token } = await claim(1);
    expect(await ledgerOf(token)).toEqual([]);
    await sealLead(db.sql, team);
    await defer("CONCURRENCY_LIMIT", 1);
    const lines = await db.sql`select phase, error_code as code, retry_count as retried from public.provider_upload_attempts
      where site_id = ${team.siteUuid} order by id`;
    expect(lines.map((line) => ({ ...line }))).toEqual([
      { phase: "STARTED", code: null, retried: null },
      { phase: "FINISHED", code: "CONCURRENCY_LIMIT", retried: 1 },
    ]);
    expect((await readHealth(db.sql, team)).failure_count).toBe(0);
  });

  test("of a worker that died is ended by recovery with its rows", async () => {
    const { id } = await sealLead(db.sql, team);
    const { token } = await claim(1);
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(15));
    expect(await ledgerOf(token)).toHaveLength(1);
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(16));
    expect((await ledgerOf(token))[1]).toMatchObject({ phase: "FINISHED", retried: 1, code: "WORKER_LOST" });
    expect((await readRow(db.sql, id)).status).toBe("RETRY");
  });
});

describe("the gate", () => {
  test("an open circuit hands out nothing, then a few rows to one worker alone", async () => {
    for (let n = 0; n < 7; n++) await sealLead(db.sql, team);
    await openCircuit(db.sql, team, minutesLater(1));
    expect(await claim(2)).toMatchObject({ gate: "OPEN", rows: [] });
    expect(await listGroups(db.sql, minutesLater(8), [team.siteUuid])).toMatchObject([
      { queued_count: 7, state: "OPEN", is_probe_due: true },
    ]);
    const probe = await claim(8);
    expect([probe.gate, probe.rows.length]).toEqual(["HALF_OPEN", 5]);
    expect(await claim(8)).toMatchObject({ gate: "OPEN", rows: [] });
    await settle(probe, { outcome: "COMPLETED" }, 9, { outcome: "success" });
    expect(await claim(10)).toMatchObject({ gate: "CLOSED", rows: [{}, {}] });
  });

  // Guarantee: two workers never both probe. Mutation: pass_gate without its lock.
  test("two workers at the same moment: one probes", async () => {
    for (let n = 0; n < 7; n++) await sealLead(db.sql, team);
    await openCircuit(db.sql, team, minutesLater(1));
    const args = { p_site_id: team.siteUuid, p_provider_key: "google_ads", p_limit: 100 };
    let first: WorkerClaim | undefined;
    const second = await whileOpen(
      db.sql,
      async (tx) => {
        await tx`select set_config('opsmantik.now', ${minutesLater(8).toISOString()}, true)`;
        first = await callIn<WorkerClaim>(tx, "claim_offline_conversion_jobs_v2", args);
      },
      () => claim(8),
    );
    expect([first?.gate, first?.rows.length, second.gate, second.rows.length]).toEqual(["HALF_OPEN", 5, "OPEN", 0]);
  });

  // Guarantee: workers of one site do not wait for each other's commit. Mutation: pass_gate locks `for update` while the circuit is closed.
  test("while it is closed, two workers claim at the same moment and share no row", async () => {
    for (let n = 0; n < 6; n++) await sealLead(db.sql, team);
    const args = { p_site_id: team.siteUuid, p_provider_key: "google_ads", p_limit: 3 };
    const [first, second] = await db.sql.begin(async (tx) => {
      await tx`select set_config('opsmantik.now', ${minutesLater(8).toISOString()}, true)`;
      const held = await callIn<WorkerClaim>(tx, "claim_offline_conversion_jobs_v2", args);
      return [held, await claim(8, 3)]; // waiting for the open transaction, it would never come back
    });
    expect([first.gate, second.gate]).toEqual(["CLOSED", "CLOSED"]);
    expect(new Set([...first.rows, ...second.rows].map(({ id }) => id)).size).toBe(6);
  });

  // Guarantee: nothing is claimed once the circuit opened or the site disconnected. Mutation: pass_gate looks without a lock.
  test.each([
    ["the circuit opens", "OPEN", failFiveTimes],
    ["the owner disconnects", "NOT_CONNECTED", disconnect],
  ])("a claim that meets another transaction in which %s waits and gets nothing", async (_what, gate, change) => {
    await sealLead(db.sql, team);
    const second = await whileOpen(db.sql, change, () => claim(8));
    expect(second).toMatchObject({ gate, rows: [] });
  });

  test("a probe that finds nothing gives its lease back", async () => {
    await openCircuit(db.sql, team, minutesLater(1));
    expect(await claim(8)).toMatchObject({ gate: "HALF_OPEN", rows: [] });
    await sealLead(db.sql, team);
    expect(await claim(8)).toMatchObject({ gate: "HALF_OPEN", rows: [{}] });
  });
});
