import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { claimForWorker, minutesLater, type Sealed, sealLead, settleClaim, type WorkerClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { callIn, service } from "#tests/fixtures/service.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { listRows } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { recordAnswer, recordVerdict } from "#tests/support/verdicts.ts";

let db: TestDatabase;
let owner: Person;
let team: Team;
let requests = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  owner = await createPerson(db.sql, "owner@verdicts.test");
});
beforeEach(async () => {
  team = await createApiTeam(db.sql, `verdicts-${++requests}`, owner); // nobody claims another test's rows
});
afterAll(() => db.drop());

/** Claims what is due and lets Data Manager accept it as one request. */
async function accepted(minute: number, firstPollSeconds?: number): Promise<string> {
  const requestId = `request-${++requests}`;
  const claimed = await claimForWorker(db.sql, team, { at: minutesLater(minute) });
  const batch = { outcome: "success", ...(firstPollSeconds !== undefined && { firstPollSeconds }) };
  await settleClaim(db.sql, team, claimed, (_row, index) => ({ outcome: "COMPLETED", requestId, recordIndex: index }), {
    at: minutesLater(minute),
    batch,
  });
  return requestId;
}
async function sent(step = {}): Promise<Sealed & { requestId: string }> {
  const sold = await sealLead(db.sql, team, { amountCents: 100_00, step });
  return { ...sold, requestId: await accepted(1) };
}
const rowsOf = (saleId: string) =>
  db.sql`select id, kind, status, order_id, value_cents::int as value, not_before, provider_error_code as code from public.offline_conversion_queue
    where sale_id = ${saleId} order by created_at, id`;
const statesOf = async (saleId: string) =>
  (await rowsOf(saleId)).map(({ kind, status, code }) => [kind, status, code].filter(Boolean).join(" "));
const verdictsOf = async (saleId: string) =>
  (await db.sql`select verdict from public.provider_dispatches where sale_id = ${saleId} order by dispatched_at, id`).map(
    (row) => row.verdict,
  );
const sendAgain = (id: string, at: Date, person = team.operator) =>
  callAs<{ ok: boolean; rowId: string }>(db.sql, person, (tx) => tx`select public.send_again(${team.siteId}, ${id})`, at);
const rejectedForGood = { reason: "PROCESSING_ERROR_REASON_INVALID_GCLID" };
const rejectedForNow = { reason: "PROCESSING_ERROR_REASON_INTERNAL_ERROR", retryable: true };

// Guarantee: what Google says later adds no line to the queue's ledger, so the moves of a row that it judged end with its delivery.
// Mutation that breaks it: a verdict that is written to the whole queue by its name, and not to its delivered part.
test("a verdict is no move: the row keeps its lines, and a page in the order of change shows it first", async () => {
  const first = await sent();
  const lines = () => db.sql`select to_status, reason from public.queue_transitions where queue_id = ${first.id} order by id`;
  const before = await lines();
  expect(before.at(-1)).toEqual({ to_status: "COMPLETED", reason: "WORKER_SETTLE" });
  await sent();
  await recordVerdict(db.sql, team, first.requestId, "UNKNOWN", minutesLater(20));
  await recordVerdict(db.sql, team, first.requestId, "CONFIRMED", minutesLater(30));
  expect(await lines()).toEqual(before);
  const page = await listRows(db.sql, team, { sort: "updated" });
  expect(page.rows.map(({ id }) => id)[0]).toBe(first.id);
});

describe("polling", () => {
  const claimPolls = (minute: number, limit = 100) =>
    service<{ requestId: string; pollCount: number }[]>(
      db.sql,
      "claim_verdict_polls",
      { p_limit: limit, p_lease_seconds: 300 },
      minutesLater(minute),
    );
  const mine = async (requestId: string, minute: number) => (await claimPolls(minute)).filter((poll) => poll.requestId === requestId);

  test("a request is asked for after its first wait, by one poller at a time, until it has ended", async () => {
    const sold = await sealLead(db.sql, team);
    const requestId = await accepted(1, 60);
    expect(await mine(requestId, 1.9)).toEqual([]);
    const [poll] = await mine(requestId, 2);
    expect(poll).toMatchObject({
      siteUuid: team.siteUuid,
      providerKey: "google_ads",
      pipeline: "seals",
      requestId,
      rowCount: 1,
      pollCount: 0,
    });
    expect(await mine(requestId, 6)).toEqual([]); // leased for five minutes
    expect(await mine(requestId, 7)).toMatchObject([{ pollCount: 1 }]); // that poller died
    const later = { status: "PROCESSING", nextPollAt: minutesLater(60).toISOString() } as const;
    expect(await recordAnswer(db.sql, team, requestId, later, minutesLater(8))).toEqual({ recorded: 0, rejected: 0, queuedAgain: 0 });
    expect(await mine(requestId, 59)).toEqual([]);
    expect(await mine(requestId, 60)).toHaveLength(1);
    await recordVerdict(db.sql, team, requestId, "CONFIRMED", minutesLater(61));
    expect(await mine(requestId, 10_000)).toEqual([]);
    expect(await verdictsOf(sold.saleId)).toEqual(["CONFIRMED"]);
  });

  // Mutation that breaks it: drop skip locked from claim_verdict_polls: the second waits, and then takes the same.
  test("two pollers at once never ask for the same request", async () => {
    await sealLead(db.sql, team);
    const requestId = await accepted(1);
    const args = { p_limit: 100, p_lease_seconds: 300 };
    await db.sql.begin(async (tx) => {
      await tx`select set_config('opsmantik.now', ${minutesLater(31).toISOString()}, true)`;
      const first = await callIn<{ requestId: string }[]>(tx, "claim_verdict_polls", args);
      expect(first.map((poll) => poll.requestId)).toContain(requestId);
      expect((await claimPolls(31)).map((poll) => poll.requestId)).not.toContain(requestId);
    });
  });
});

// Guarantee: only what we sent before is a duplicate of ours. Another sale of the same click at the same second is counted instead of this one.
describe("a duplicate by its click", () => {
  const byClick = { reason: "DUPLICATE_GCLID", byClick: true };

  test("of a row that never left before is another sale's: rejected", async () => {
    const { saleId, requestId } = await sent();
    expect(await recordVerdict(db.sql, team, requestId, "DUPLICATE", minutesLater(40), byClick)).toMatchObject({
      rejected: 1,
      queuedAgain: 0,
    });
    expect(await verdictsOf(saleId)).toEqual(["REJECTED"]);
  });

  test("of a row that was handed out before is our own", async () => {
    const { saleId } = await sealLead(db.sql, team);
    const lost = await claimForWorker(db.sql, team, { at: minutesLater(1) });
    await settleClaim(db.sql, team, lost, { outcome: "RETRY", category: "TRANSIENT", free: true }, { at: minutesLater(2) });
    const requestId = await accepted(20);
    await recordVerdict(db.sql, team, requestId, "DUPLICATE", minutesLater(60), byClick);
    expect(await verdictsOf(saleId)).toEqual(["DUPLICATE"]);
  });

  // Guarantee: two sales of one click at one second do not hide each other because Google was busy at the first try.
  // Mutations that break it: judge by attempt_count in record_verdicts; leave mayHaveArrived out of hand_out, or give it the attempts.
  test.each([
    ["a rate limit", { outcome: "RETRY", category: "RATE_LIMIT", code: "RATE_LIMIT" }, false],
    ["a call that nobody answered", { outcome: "RETRY", category: "TRANSIENT" }, true],
  ] as const)("of a row that was let wait by %s is our own only if it may have arrived", async (_name, answer, isOurs) => {
    const { saleId } = await sealLead(db.sql, team);
    const first = await claimForWorker(db.sql, team, { at: minutesLater(1) });
    expect(first.rows).toMatchObject([{ mayHaveArrived: false }]);
    await settleClaim(db.sql, team, first, answer, { at: minutesLater(2), batch: { outcome: "transient" } });
    const second = await claimForWorker(db.sql, team, { at: minutesLater(60) });
    expect(second.rows).toMatchObject([{ attemptCount: 2, mayHaveArrived: isOurs }]);
    const sentNow = { outcome: "COMPLETED", requestId: saleId, recordIndex: 0 } as const;
    await settleClaim(db.sql, team, second, sentNow, { at: minutesLater(61), batch: { outcome: "success" } });
    await recordVerdict(db.sql, team, saleId, "DUPLICATE", minutesLater(100), byClick);
    expect(await verdictsOf(saleId)).toEqual([isOurs ? "DUPLICATE" : "REJECTED"]);
  });

  test("of a row whose predecessor may have arrived is our own", async () => {
    const { saleId } = await sealLead(db.sql, team);
    await claimForWorker(db.sql, team, { at: minutesLater(1) });
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(20));
    await recordVerdict(db.sql, team, await accepted(21), "REJECTED", minutesLater(40), rejectedForNow);
    const again = await claimForWorker(db.sql, team, { at: minutesLater(60) });
    expect(again.rows).toMatchObject([{ attemptCount: 1, mayHaveArrived: true }]);
    const sentNow = { outcome: "COMPLETED", requestId: saleId, recordIndex: 0 } as const;
    await settleClaim(db.sql, team, again, sentNow, { at: minutesLater(61), batch: { outcome: "success" } });
    await recordVerdict(db.sql, team, saleId, "DUPLICATE", minutesLater(100), byClick);
    expect(await verdictsOf(saleId)).toEqual(["REJECTED", "DUPLICATE"]);
  });

  test("of a sale that was sent again by hand is our own", async () => {
    const { id, saleId, requestId } = await sent();
    await recordVerdict(db.sql, team, requestId, "REJECTED", minutesLater(40), rejectedForGood);
    await sendAgain(id, minutesLater(41));
    await recordVerdict(db.sql, team, await accepted(42), "DUPLICATE", minutesLater(80), byClick);
    expect(await verdictsOf(saleId)).toEqual(["REJECTED", "DUPLICATE"]);
  });
});

describe("an answer", () => {
  test("gives each place its verdict; places that a final answer does not name get the rest, or are unknown", async () => {
    const [first, second, third] = [await sealLead(db.sql, team), await sealLead(db.sql, team), await sealLead(db.sql, team)];
    const requestId = await accepted(1);
    const some = { status: "PROCESSING", verdicts: [{ index: 0, verdict: "DUPLICATE" }] } as const;
    expect(await recordAnswer(db.sql, team, requestId, { ...some, verdicts: [...some.verdicts] }, minutesLater(40))).toMatchObject({
      recorded: 1,
    });
    const last = { status: "PARTIAL_SUCCESS", verdicts: [{ index: 1, verdict: "REJECTED", ...rejectedForGood }] } as const;
    await recordAnswer(db.sql, team, requestId, { ...last, verdicts: [...last.verdicts] }, minutesLater(50));
    expect(await Promise.all([first, second, third].map(({ saleId }) => verdictsOf(saleId)))).toEqual([
      ["DUPLICATE"],
      ["REJECTED"],
      ["UNKNOWN"],
    ]);
    const [stored] =
      await db.sql`select verdict_reason as reason, verdict_at as at from public.provider_dispatches where sale_id = ${second.saleId}`;
    expect({ ...stored }).toEqual({ reason: rejectedForGood.reason, at: minutesLater(50) });
  });

  // Mutation that breaks it: update dispatches whatever their verdict.
  test("once set stays, except that what was unknown can become known", async () => {
    const sold = await sent();
    await recordVerdict(db.sql, team, sold.requestId, "UNKNOWN", minutesLater(40));
    await recordVerdict(db.sql, team, sold.requestId, "CONFIRMED", minutesLater(50));
    expect(await recordVerdict(db.sql, team, sold.requestId, "REJECTED", minutesLater(60), rejectedForNow)).toMatchObject({ recorded: 0 });
    expect(await verdictsOf(sold.saleId)).toEqual(["CONFIRMED"]);
    expect(await statesOf(sold.saleId)).toEqual(["CONVERSION COMPLETED"]);
  });

  test("of a request of signals is kept on them, and moves nothing", async () => {
    await deliverySettings(db.sql, team, { signalsEnabled: true });
    await sealLead(db.sql, team);
    const about = { p_site_id: team.siteUuid };
    const claimed = await service<WorkerClaim>(
      db.sql,
      "claim_marketing_signal_jobs",
      { ...about, p_provider_key: "google_ads", p_limit: 10 },
      minutesLater(1),
    );
    const sentSignal = { outcome: "COMPLETED", requestId: "signals-1", recordIndex: 0, transport: "data_manager" };
    const p_results = claimed.rows.map(({ id }) => ({ id, ...sentSignal }));
    expect(p_results).toHaveLength(1);
    const p_batch = { provider: "google_ads", outcome: "success", ...claimed.batch };
    await service(db.sql, "settle_marketing_signal_jobs", { ...about, p_token: claimed.token, p_results, p_batch }, minutesLater(1));
    expect(await recordVerdict(db.sql, team, "signals-1", "REJECTED", minutesLater(40), rejectedForNow)).toMatchObject({
      recorded: 1,
      rejected: 1,
    });
    expect(await recordVerdict(db.sql, team, "signals-1", "CONFIRMED", minutesLater(41))).toMatchObject({ recorded: 0 });
    const signals =
      await db.sql`select dispatch_status, verdict, verdict_reason from public.marketing_signals where site_id = ${team.siteUuid}`;
    expect(signals).toMatchObject([{ dispatch_status: "SENT", verdict: "REJECTED", verdict_reason: rejectedForNow.reason }]);
  });

  test("for a request of another site is refused", async () => {
    const { requestId } = await sent();
    const other = await createApiTeam(db.sql, "verdicts-other", owner);
    await expect(recordVerdict(db.sql, other, requestId, "CONFIRMED", minutesLater(40))).rejects.toMatchObject({ message: "NOT_FOUND" });
  });
});
