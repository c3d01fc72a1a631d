import type postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { become } from "#tests/fixtures/act-as.ts";
import { connectApi } from "#tests/fixtures/connections.ts";
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
import { service } from "#tests/fixtures/service.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { readHealth } from "#tests/support/circuit.ts";
import { act, listRows, undo } from "#tests/support/control.ts";
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
const settle = (claimed: WorkerClaim, result: Result, minute: number, batch?: Record<string, unknown>) =>
  settleClaim(db.sql, team, claimed, result, { at: minutesLater(minute), ...(batch && { batch }) });
const attempt = async (result: Result, minute: number) => settle(await claim(minute), result, minute);
const defer = (code: string, minute: number, until = minute + 5) =>
  service(
    db.sql,
    "defer_offline_conversion_jobs",
    { p_site_id: team.siteUuid, p_provider_key: "google_ads", p_limit: 100, p_until: minutesLater(until), p_code: code, p_message: code },
    minutesLater(minute),
  );
const unavailable: Result = { outcome: "RETRY", category: "TRANSIENT", code: "UNAVAILABLE", message: "try later" };
const tooRecent = (minute: number): Result => ({
  outcome: "RETRY",
  category: "TRANSIENT",
  code: "TOO_RECENT_EVENT",
  message: "too recent",
  free: true,
  retryAt: minutesLater(minute + 1).toISOString(),
});

// Guarantee: waiting because Google asks for it never uses a conversion up. Mutation: drop free from end_claims.
describe("a wait that Google asks for", () => {
  test("gives the attempt back, and attempt_count never falls", async () => {
    const { id } = await sealLead(db.sql, team);
    for (let wait = 1; wait <= 6; wait++) expect(await attempt(tooRecent(wait * 10), wait * 10)).toMatchObject({ retried: 1 });
    expect(await readRow(db.sql, id)).toMatchObject({ status: "RETRY", attempt_count: 6, attempt_base: 6, free_waits: 6 });
    expect((await claim(70)).rows).toMatchObject([{ id, attemptCount: 7 }]);
  });

  // Mutation that breaks it: another number than 20, in end_claims or in the CHECK.
  test("is free twenty times a row; the next five count, and then it is over", async () => {
    const { id } = await sealLead(db.sql, team);
    for (let wait = 1; wait <= 24; wait++) await attempt(tooRecent(wait * 10), wait * 10);
    expect(await readRow(db.sql, id)).toMatchObject({ status: "RETRY", attempt_count: 24, attempt_base: 20, free_waits: 20 });
    expect(await attempt(tooRecent(250), 250)).toMatchObject({ failed: 1 });
    expect(await readRow(db.sql, id)).toMatchObject({
      status: "FAILED",
      provider_error_code: "MAX_ATTEMPTS",
      attempt_error_code: "TOO_RECENT_EVENT",
    });
  });

  test("an ordinary rate limit counts", async () => {
    const { id } = await sealLead(db.sql, team);
    await attempt({ outcome: "RETRY", category: "RATE_LIMIT", code: "RESOURCE_EXHAUSTED" }, 1);
    expect(await readRow(db.sql, id)).toMatchObject({ attempt_count: 1, attempt_base: 0, free_waits: 0 });
  });
});

// Guarantee: Google being away costs no sale. Mutation: drop free from the rows of a batch that nobody answered.
describe("a provider that is away", () => {
  const unanswered: Result = { outcome: "RETRY", category: "TRANSIENT", message: "could not be reached", free: true };
  const awayUntil = async (end: number) => {
    for (let minute = 1; minute <= end; minute += 10) {
      const claimed = await claim(minute);
      if (claimed.rows.length > 0) await settle(claimed, unanswered, minute, { outcome: "transient" });
    }
  };

  test("for an hour of runs fails no row for good, and the row may have arrived", async () => {
    const { id } = await sealLead(db.sql, team);
    await awayUntil(61);
    expect(await readRow(db.sql, id)).toMatchObject({ status: "RETRY", may_have_arrived: true });
  });

  test("for half a day neither: the waits grow, so that twenty of them last", async () => {
    const { id } = await sealLead(db.sql, team);
    await awayUntil(720);
    expect((await readRow(db.sql, id)).status).toBe("RETRY");
  });

  test("and answers each time with an error has had its five attempts", async () => {
    const { id } = await sealLead(db.sql, team);
    for (let n = 1; n <= 5; n++) await attempt({ ...unanswered, free: false }, n * 100);
    expect(await readRow(db.sql, id)).toMatchObject({ status: "FAILED", provider_error_code: "MAX_ATTEMPTS" });
  });
});

// Guarantee: a row always tells what the last real attempt met, whatever made it wait since.
describe("the error of the last real attempt", () => {
  // Mutation that breaks it: write attempt_error in defer_offline_conversion_jobs.
  test("outlives a deferral, which is shown beside it; a success clears both", async () => {
    const { id } = await sealLead(db.sql, team);
    await attempt(unavailable, 1);
    expect(await defer("CIRCUIT_OPEN", 30)).toEqual({ deferred: 1 });
    const { rows } = await listRows(db.sql, team, { q: id }, { at: minutesLater(31) });
    expect(rows).toMatchObject([
      {
        providerErrorCode: "CIRCUIT_OPEN",
        lastError: "CIRCUIT_OPEN",
        attemptErrorCode: "UNAVAILABLE",
        attemptErrorCategory: "TRANSIENT",
        attemptError: "try later",
      },
    ]);
    await attempt({ outcome: "COMPLETED" }, 60);
    expect(await readRow(db.sql, id)).toMatchObject({ attempt_error: null, attempt_error_code: null, attempt_error_category: null });
  });

  test("stays when attempts are used up, and goes with an operator's clearErrors, whose undo brings it back", async () => {
    const { id } = await sealLead(db.sql, team);
    for (let n = 1; n <= 5; n++) await attempt(unavailable, n * 100);
    const used = { provider_error_code: "MAX_ATTEMPTS", attempt_error_code: "UNAVAILABLE", attempt_error: "try later" };
    expect(await readRow(db.sql, id)).toMatchObject(used);
    const action = { action: "RESET_TO_QUEUED", ids: [id], clearErrors: true } as const;
    const { body } = await act(db.sql, action, { team, at: minutesLater(501) });
    expect(await readRow(db.sql, id)).toMatchObject({ status: "QUEUED", attempt_error_code: null, attempt_error: null });
    await undo(db.sql, body.actionId, { team, at: minutesLater(502) });
    expect(await readRow(db.sql, id)).toMatchObject({ status: "FAILED", ...used });
  });

  // Mutation that breaks it: coalesce the code to UNKNOWN for RETRY as well.
  test("of a sender that threw has no code; used up, it is MAX_ATTEMPTS", async () => {
    const { id } = await sealLead(db.sql, team);
    const threw: Result = { outcome: "RETRY", category: "TRANSIENT", message: "socket hang up" };
    await attempt(threw, 100);
    expect(await readRow(db.sql, id)).toMatchObject({
      status: "RETRY",
      provider_error_code: null,
      provider_error_category: "TRANSIENT",
      last_error: "socket hang up",
      attempt_error_code: null,
      attempt_error_category: "TRANSIENT",
    });
    for (let n = 2; n <= 5; n++) await attempt(threw, n * 100);
    expect(await readRow(db.sql, id)).toMatchObject({
      status: "FAILED",
      provider_error_code: "MAX_ATTEMPTS",
      provider_error_category: "PERMANENT",
      last_error: "MAX_ATTEMPTS_EXCEEDED: socket hang up",
    });
  });
});

const revoked: Result = { outcome: "FAILED", category: "AUTH", code: "invalid_grant", message: "revoked" };
const block = { code: "invalid_grant", message: "Reconnect Google." };

// Guarantee: new credentials are never blamed for what the old ones met, and no sale is left behind by a refusal that came late.
describe("a refused access", () => {
  test("fails the batch and blocks the rest", async () => {
    const { id } = await sealLead(db.sql, team);
    await settle(await claim(1), revoked, 2, { outcome: "definite", block });
    expect(await readRow(db.sql, id)).toMatchObject({ status: "FAILED", provider_error_category: "AUTH" });
    expect(await claim(3)).toMatchObject({ gate: "BLOCKED", rows: [] });
    expect(await listGroups(db.sql, minutesLater(3), [team.siteUuid])).toEqual([]);
  });

  // Mutation that breaks it: drop the comparison of versions from settle.
  test("under credentials that were replaced meanwhile is tried again, also with no attempts left, and blocks nothing", async () => {
    const { id } = await sealLead(db.sql, team);
    for (let n = 1; n <= 4; n++) await attempt(unavailable, n * 100);
    const claimed = await claim(500);
    expect(claimed.rows).toMatchObject([{ attemptCount: 5 }]);
    await connectApi(db.sql, team);
    expect(await settle(claimed, revoked, 501, { outcome: "definite", block })).toMatchObject({ retried: 1 });
    expect(await readRow(db.sql, id)).toMatchObject({ status: "RETRY", attempt_error_code: "invalid_grant" });
    expect(await claim(600)).toMatchObject({ gate: "CLOSED", rows: [{ id }] });
  });

  // Mutation that breaks it: take hold_provider after the sales, or not at all.
  test("at the moment in which new credentials come: the row is tried again", async () => {
    const { id } = await sealLead(db.sql, team);
    const claimed = await claim(1);
    const connection = { provider: "google_ads", keyId: "00000000", sealed: "c2VhbGVkIGJ5IG5vYm9keQ==", account: {} };
    const connect = async (tx: postgres.TransactionSql) => {
      await become(tx, owner.id);
      await tx`select public.connect_provider(${team.siteId}, ${tx.json(connection)})`;
    };
    const settled = await whileOpen(db.sql, connect, () => settle(claimed, revoked, 2, { outcome: "definite", block }));
    expect(settled).toMatchObject({ retried: 1 });
    expect((await readRow(db.sql, id)).status).toBe("RETRY");
    expect((await readHealth(db.sql, team)).blocked_at).toBeNull();
  });
});
