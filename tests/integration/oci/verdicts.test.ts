import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { recordVisit } from "#scripts/local/demo/record-visit.ts";
import { actionOf, connectApi, defaultNames } from "#tests/support/connections.ts";
import { act } from "#tests/support/control.ts";
import { change } from "#tests/support/leads.ts";
import {
  callIn,
  claimForWorker,
  createApiTeam,
  deliverySettings,
  minutesLater,
  moveConversion,
  type Sealed,
  sealLead,
  service,
  settleClaim,
  switchDelivery,
  type WorkerClaim,
} from "#tests/support/queue.ts";
import { callAs, createPerson, type Person, type Team } from "#tests/support/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { type Recorded, recordAnswer, recordVerdict } from "#tests/support/verdicts.ts";
import { whileOpen } from "#tests/support/while-open.ts";

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
  callAs<{ ok: boolean; rowId: string }>(db.sql, person, (tx) => tx`select public.send_again(${team.publicId}, ${id})`, at);
const rejectedForGood = { reason: "PROCESSING_ERROR_REASON_INVALID_GCLID" };
const rejectedForNow = { reason: "PROCESSING_ERROR_REASON_INTERNAL_ERROR", retryable: true };
const correct = (saleId: string, amountCents: number, minute: number) =>
  change(db.sql, { team }, "correct_sale", { id: saleId, amountCents }, { at: minutesLater(minute) });
const cancel = (saleId: string, minute: number) => change(db.sql, { team }, "cancel_sale", { id: saleId }, { at: minutesLater(minute) });

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
    expect(poll).toMatchObject({ siteId: team.siteId, providerKey: "google_ads", pipeline: "seals", requestId, rowCount: 1, pollCount: 0 });
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
    const about = { p_site_id: team.siteId };
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
      await db.sql`select dispatch_status, verdict, verdict_reason from public.marketing_signals where site_id = ${team.siteId}`;
    expect(signals).toMatchObject([{ dispatch_status: "SENT", verdict: "REJECTED", verdict_reason: rejectedForNow.reason }]);
  });

  test("for a request of another site is refused", async () => {
    const { requestId } = await sent();
    const other = await createApiTeam(db.sql, "verdicts-other", owner);
    await expect(recordVerdict(db.sql, other, requestId, "CONFIRMED", minutesLater(40))).rejects.toMatchObject({ message: "NOT_FOUND" });
  });
});

describe("a rejection", () => {
  // Guarantee: what Google may take later is sent again by itself, as the same conversion.
  test("that may pass is queued again with the same order id and the newest value, a little later", async () => {
    const sold = await sent();
    await correct(sold.saleId, 80_00, 5);
    expect(await statesOf(sold.saleId)).toEqual(["CONVERSION COMPLETED", "RESTATE QUEUED"]);
    expect(await recordVerdict(db.sql, team, sold.requestId, "REJECTED", minutesLater(40), rejectedForNow)).toMatchObject({
      queuedAgain: 1,
    });
    const [first, restate, again] = await rowsOf(sold.saleId);
    expect([restate?.status, restate?.code]).toEqual(["FAILED", "SUPERSEDED"]);
    expect(again).toMatchObject({ kind: "CONVERSION", status: "QUEUED", order_id: first?.order_id, value: 80_00 });
    expect(Number(again?.not_before) - Number(minutesLater(40))).toBeGreaterThan(60_000);
    expect((await claimForWorker(db.sql, team, { at: minutesLater(50) })).rows).toMatchObject([{ id: again?.id, valueCents: 80_00 }]);
  });

  test("because it came too early waits six hours", async () => {
    const sold = await sent();
    const reason = "PROCESSING_ERROR_REASON_TOO_RECENT_EVENT";
    await recordVerdict(db.sql, team, sold.requestId, "REJECTED", minutesLater(40), { reason, retryable: true });
    expect((await rowsOf(sold.saleId))[1]?.not_before).toEqual(minutesLater(40 + 360));
  });

  // Mutation that breaks it: another number in follow_rejection.
  test("is tried again at most four times: the fifth waits for a person", async () => {
    const { saleId, requestId } = await sent();
    let request = requestId;
    for (let rejection = 1; rejection <= 5; rejection++) {
      const minute = rejection * 100;
      const { queuedAgain } = await recordVerdict(db.sql, team, request, "REJECTED", minutesLater(minute), rejectedForNow);
      expect(queuedAgain).toBe(rejection < 5 ? 1 : 0);
      if (rejection < 5) request = await accepted(minute + 90);
    }
    expect(await statesOf(saleId)).toEqual(Array(5).fill("CONVERSION COMPLETED"));
    const { rowId } = await sendAgain(String((await rowsOf(saleId)).at(-1)?.id), minutesLater(600));
    expect((await rowsOf(saleId)).at(-1)).toMatchObject({ id: rowId, status: "QUEUED" });
    await accepted(700);
  });

  test("for good waits for an operator, also when the sale is corrected; a cancellation needs nothing then", async () => {
    const sold = await sent();
    await recordVerdict(db.sql, team, sold.requestId, "REJECTED", minutesLater(40), rejectedForGood);
    await correct(sold.saleId, 80_00, 41);
    expect(await statesOf(sold.saleId)).toEqual(["CONVERSION COMPLETED"]);
    await cancel(sold.saleId, 42);
    expect(await statesOf(sold.saleId)).toEqual(["CONVERSION COMPLETED"]);
  });

  // Guarantee: a sale that comes back is sent, though nobody queued it again when Google rejected it: it was cancelled then.
  // Mutation that breaks it: drop is_retryable from follow_ledger.
  test("of a sale that was cancelled then is queued when the sale comes back, unless it is for good", async () => {
    for (const [more, states] of [
      [rejectedForNow, ["CONVERSION COMPLETED", "RETRACT FAILED SUPERSEDED", "CONVERSION QUEUED"]],
      [rejectedForGood, ["CONVERSION COMPLETED", "RETRACT FAILED SUPERSEDED"]],
    ] as const) {
      const sold = await sent();
      await cancel(sold.saleId, 2);
      await recordVerdict(db.sql, team, sold.requestId, "REJECTED", minutesLater(40), more);
      await change(db.sql, { team }, "seal_call", { id: sold.callId }, { at: minutesLater(50) });
      expect(await statesOf(sold.saleId)).toEqual(states);
      await accepted(60);
    }
  });

  // Guarantee: a visitor who withdrew is not sent again because Google stumbled. Mutation: drop the block from follow_rejection.
  test("of a sale whose visitor withdrew meanwhile is not queued again, by itself or by hand", async () => {
    const visitor = "withdraws-while-google-decides";
    const sold = await sent({ visitor });
    await recordVisit(db.sql, team.siteId, visitor, [{ at: minutesLater(10), url: "https://verdicts.test/", marketingConsent: false }]);
    expect(await recordVerdict(db.sql, team, sold.requestId, "REJECTED", minutesLater(40), rejectedForNow)).toMatchObject({
      queuedAgain: 0,
    });
    expect(await statesOf(sold.saleId)).toEqual(["CONVERSION COMPLETED"]);
    await expect(sendAgain(sold.id, minutesLater(41))).rejects.toMatchObject({ message: "ILLEGAL_MOVE" });
  });

  test("of a correction leaves the conversion standing, and the same value is not sent again by itself", async () => {
    const sold = await sent();
    await recordVerdict(db.sql, team, sold.requestId, "CONFIRMED", minutesLater(40));
    await correct(sold.saleId, 80_00, 41);
    const restated = await accepted(42);
    await recordVerdict(db.sql, team, restated, "REJECTED", minutesLater(80), rejectedForGood);
    expect(await statesOf(sold.saleId)).toEqual(["CONVERSION COMPLETED", "RESTATE COMPLETED"]);
    await correct(sold.saleId, 70_00, 81);
    expect((await rowsOf(sold.saleId)).at(-1)).toMatchObject({ kind: "RESTATE", status: "QUEUED", value: 70_00 });
    await accepted(82);
  });
});

// Guarantee: a sale that Google rejected is not taken for delivered because a person corrected it there meanwhile.
// Mutation that breaks it: let a by_hand dispatch stand by itself in standing_dispatches.
test("a correction by hand does not stand for a conversion that Google then rejects", async () => {
  const sold = await sent();
  await switchDelivery(db.sql, team, "script");
  await correct(sold.saleId, 90_00, 3);
  const restate = (await rowsOf(sold.saleId)).find(({ kind }) => kind === "RESTATE");
  const done = { id: restate?.id, valueCents: 90_00 };
  await callAs(
    db.sql,
    team.operator,
    (tx) => tx`select public.complete_adjustment_by_hand(${team.publicId}, ${tx.json(done)})`,
    minutesLater(4),
  );
  expect(await recordVerdict(db.sql, team, sold.requestId, "REJECTED", minutesLater(40), rejectedForNow)).toMatchObject({ queuedAgain: 1 });
  const [conversion] = (await rowsOf(sold.saleId)).filter(({ status }) => status === "QUEUED");
  expect(conversion).toMatchObject({ kind: "CONVERSION", value: 90_00 });
});

describe("sending again", () => {
  // Guarantee: "already there" proves that Google has the conversion, not that it has this value of it.
  // Mutation that breaks it: is_certain without a look at the sale's other dispatches.
  test.each([
    ["is already there", { verdict: "DUPLICATE" }, ["RESTATE 8000"]],
    ["is accepted for now", { requestId: "again", recordIndex: 0 }, ["RESTATE 8000"]],
    ["is confirmed", { verdict: "CONFIRMED" }, []],
  ])("with another value, and it %s: what Google keeps is corrected unless it is known", async (_name, answer, waiting) => {
    const sold = await sent();
    await recordVerdict(db.sql, team, sold.requestId, "REJECTED", minutesLater(40), rejectedForNow);
    await correct(sold.saleId, 80_00, 41);
    const second = await claimForWorker(db.sql, team, { at: minutesLater(60) });
    expect(second.rows).toMatchObject([{ valueCents: 80_00 }]);
    await settleClaim(db.sql, team, second, { outcome: "COMPLETED", ...answer }, { at: minutesLater(60), batch: { outcome: "success" } });
    const open = (await rowsOf(sold.saleId)).filter(({ status }) => status === "QUEUED");
    expect(open.map(({ kind, value }) => `${kind} ${value}`)).toEqual(waiting);
  });

  // Guarantee: a sale counts once, though an earlier row of it was given up and is tried again when a later one has brought it to Google.
  // Mutation that breaks it: let judge_queue_rows look at open rows alone.
  test("what was given up before stays so when another row of the sale has arrived", async () => {
    const sold = await sent();
    await recordVerdict(db.sql, team, sold.requestId, "REJECTED", minutesLater(40), rejectedForNow);
    const given = String((await rowsOf(sold.saleId)).at(-1)?.id);
    await act(db.sql, { action: "MARK_FAILED", ids: [given] }, { team, at: minutesLater(41) });
    await sendAgain(sold.id, minutesLater(42));
    await connectApi(db.sql, team, { actions: [{ conversionName: defaultNames.seal, action: actionOf(9) }], at: minutesLater(43) });
    await accepted(60);
    expect(await statesOf(sold.saleId)).toEqual(["CONVERSION COMPLETED", "CONVERSION FAILED MANUAL_FAIL", "CONVERSION COMPLETED"]);
    const retried = await act(db.sql, { action: "RETRY_SELECTED", ids: [given] }, { team, at: minutesLater(61) });
    expect(retried.body).toMatchObject({ affected: 0, skipped: [{ reason: "ILLEGAL_MOVE" }] });
    const moved = await moveConversion(db.sql, team, { id: given, to: "QUEUED" }, minutesLater(61));
    expect(moved).toMatchObject({ status: 409, body: { code: "ILLEGAL_MOVE" } });
  });

  test("is refused for what was not rejected, for viewers and for strangers; twice gives the same row", async () => {
    const sold = await sent();
    await expect(sendAgain(sold.id, minutesLater(5))).rejects.toMatchObject({ message: "ILLEGAL_MOVE" });
    await recordVerdict(db.sql, team, sold.requestId, "REJECTED", minutesLater(40), rejectedForGood);
    await expect(sendAgain(sold.id, minutesLater(41), team.viewer)).rejects.toMatchObject({ code: "PT403" });
    await expect(sendAgain(crypto.randomUUID(), minutesLater(41))).rejects.toMatchObject({ message: "NOT_FOUND" });
    const first = await sendAgain(sold.id, minutesLater(41));
    expect(await sendAgain(sold.id, minutesLater(42))).toEqual(first);
    const [proof] = await db.sql`select facts from public.transition_proofs where entity_id = ${first.rowId}`;
    expect(proof?.facts).toMatchObject({ sendsAgain: sold.id });
  });

  // Guarantee: of a request that Google never spoke about, or not by place, some rows were rejected. They are not lost for ever.
  // Mutations that break it: is_in_doubt without UNKNOWN; follow_ledger without v_is_again; enqueue without the dispatch's action.
  describe("of what Google never said anything about", () => {
    const story = (id: string) =>
      callAs<{ canSendAgain: boolean }>(
        db.sql,
        team.viewer,
        (tx) => tx`select public.queue_row_story(${team.publicId}, ${id}, 5)`,
        minutesLater(41),
      );
    async function unknown(): Promise<Sealed> {
      const sold = await sent();
      expect(await story(sold.id)).toMatchObject({ canSendAgain: false }); // Google may still say something
      await recordAnswer(db.sql, team, sold.requestId, { status: "PARTIAL_SUCCESS" }, minutesLater(40));
      return sold;
    }

    test("is offered, keeps action and order id, and waits until it is sent; the verdict counts", async () => {
      const sold = await unknown();
      expect(await story(sold.id)).toMatchObject({ canSendAgain: true });
      await connectApi(db.sql, team, { actions: [{ conversionName: defaultNames.seal, action: actionOf(77) }], at: minutesLater(41) });
      const { rowId } = await sendAgain(sold.id, minutesLater(42));
      expect(await story(sold.id)).toMatchObject({ canSendAgain: false });
      await correct(sold.saleId, 80_00, 43); // it takes the new value with it
      const why = await callAs(
        db.sql,
        team.viewer,
        (tx) => tx`select public.why_not_counted(${team.publicId}, ${sold.saleId})`,
        minutesLater(60),
      );
      expect(why).toMatchObject({ link: "WAITS", code: "DUE" });
      const claim = await claimForWorker(db.sql, team, { at: minutesLater(60) });
      const [first] = await rowsOf(sold.saleId);
      expect(claim.rows).toMatchObject([
        { id: rowId, kind: "CONVERSION", orderId: first?.order_id, conversionAction: actionOf(1), valueCents: 80_00, mayHaveArrived: true },
      ]);
      await settleClaim(db.sql, team, claim, { outcome: "COMPLETED", verdict: "CONFIRMED" }, { at: minutesLater(61) });
      expect(await verdictsOf(sold.saleId)).toEqual(["UNKNOWN", "CONFIRMED"]);
      await expect(sendAgain(sold.id, minutesLater(62))).rejects.toMatchObject({ message: "ILLEGAL_MOVE" });
    });

    test("is tried again by itself when Google then rejects it for now, and can be taken back", async () => {
      const sold = await unknown();
      await sendAgain(sold.id, minutesLater(41));
      const again = await accepted(42);
      expect(await recordVerdict(db.sql, team, again, "REJECTED", minutesLater(80), rejectedForNow)).toMatchObject({ queuedAgain: 1 });
      await cancel(sold.saleId, 81);
      expect((await claimForWorker(db.sql, team, { at: minutesLater(200) })).rows).toMatchObject([{ kind: "RETRACT" }]);
    });

    test("is refused when the sale was cancelled, or its visitor withdrew", async () => {
      const sold = await unknown();
      await cancel(sold.saleId, 41);
      await expect(sendAgain(sold.id, minutesLater(42))).rejects.toMatchObject({ message: "ILLEGAL_MOVE" });
      const silent = await unknown();
      await db.sql`select private.silence_sales(${[silent.saleId]})`;
      expect(await story(silent.id)).toMatchObject({ canSendAgain: false });
      await expect(sendAgain(silent.id, minutesLater(42))).rejects.toMatchObject({ message: "ILLEGAL_MOVE" });
    });

    test("works for a correction, too", async () => {
      const sold = await sent();
      await recordVerdict(db.sql, team, sold.requestId, "CONFIRMED", minutesLater(30));
      await correct(sold.saleId, 80_00, 31);
      await recordAnswer(db.sql, team, await accepted(32), { status: "PARTIAL_SUCCESS" }, minutesLater(40));
      const correction = (await rowsOf(sold.saleId)).at(-1);
      const { rowId } = await sendAgain(String(correction?.id), minutesLater(42));
      expect((await claimForWorker(db.sql, team, { at: minutesLater(60) })).rows).toMatchObject([
        { id: rowId, kind: "RESTATE", valueCents: 80_00, conversionAction: actionOf(1) },
      ]);
    });
  });

  // Guarantee: news of the first attempt that comes after the second was asked for makes no third.
  test("a verdict that comes after it changes nothing more", async () => {
    const sold = await sent();
    await recordVerdict(db.sql, team, sold.requestId, "REJECTED", minutesLater(40), rejectedForGood);
    await sendAgain(sold.id, minutesLater(41));
    for (const verdict of ["REJECTED", "CONFIRMED"] as const)
      expect(await recordVerdict(db.sql, team, sold.requestId, verdict, minutesLater(42), rejectedForNow)).toMatchObject({ recorded: 0 });
    expect(await statesOf(sold.saleId)).toEqual(["CONVERSION COMPLETED", "CONVERSION QUEUED"]);
    const again = await accepted(43);
    await recordVerdict(db.sql, team, again, "CONFIRMED", minutesLater(90));
    expect(await verdictsOf(sold.saleId)).toEqual(["REJECTED", "CONFIRMED"]);
    await correct(sold.saleId, 80_00, 91);
    expect((await rowsOf(sold.saleId)).at(-1)).toMatchObject({ kind: "RESTATE", value: 80_00 });
    await accepted(92);
  });
});

describe("a verdict at the same moment as", () => {
  const verdictIn = (requestId: string, verdict: "REJECTED" | "CONFIRMED", more = {}) =>
    recordVerdict(db.sql, team, requestId, verdict, minutesLater(40), more);
  const operate = (name: string, args: object) => async (tx: Parameters<Parameters<typeof whileOpen>[1]>[0]) => {
    await tx`select set_config('opsmantik.now', ${minutesLater(40).toISOString()}, true),
      set_config('request.jwt.claims', ${JSON.stringify({ sub: team.operator.id, role: "authenticated" })}, true)`;
    await tx`select ${tx(`public.${name}`)}(${team.publicId}, ${tx.json(args as never)}, ${"0".repeat(64)}, null)`;
  };

  // Guarantee: what the queue is brought in line with is what the sale is worth when both have ended.
  // Mutation that breaks it: drop the lock of the sales from record_verdicts.
  test("a correction: what is queued again has the corrected value, and no correction is left", async () => {
    const sold = await sent();
    const correction = operate("correct_sale", { id: sold.saleId, amountCents: 80_00 });
    expect(await whileOpen(db.sql, correction, () => verdictIn(sold.requestId, "REJECTED", rejectedForNow))).toMatchObject({
      queuedAgain: 1,
    });
    expect(await statesOf(sold.saleId)).toEqual(["CONVERSION COMPLETED", "RESTATE FAILED SUPERSEDED", "CONVERSION QUEUED"]);
    expect((await rowsOf(sold.saleId))[2]).toMatchObject({ value: 80_00 });
  });

  test("a cancellation: nothing is queued again, and nothing is taken back", async () => {
    const sold = await sent();
    const cancellation = operate("cancel_sale", { id: sold.saleId });
    expect(await whileOpen(db.sql, cancellation, () => verdictIn(sold.requestId, "REJECTED", rejectedForNow))).toMatchObject({
      queuedAgain: 0,
    });
    expect(await statesOf(sold.saleId)).toEqual(["CONVERSION COMPLETED", "RETRACT FAILED SUPERSEDED"]);
  });

  // Mutation that breaks it: set verdicts that are set.
  test("the same verdict from a second poll: it is recorded once, and queued again once", async () => {
    const sold = await sent();
    const first: Recorded[] = [];
    const second = await whileOpen(
      db.sql,
      async (tx) => {
        await tx`select set_config('opsmantik.now', ${minutesLater(40).toISOString()}, true)`;
        const verdicts = [{ index: 0, verdict: "REJECTED", ...rejectedForNow }];
        const args = { p_site_id: team.siteId, p_request_id: sold.requestId, p_answer: { status: "FAILED", verdicts, rest: null } };
        first.push(await callIn<Recorded>(tx, "record_verdicts", args));
      },
      () => verdictIn(sold.requestId, "REJECTED", rejectedForNow),
    );
    expect([...first, second]).toMatchObject([
      { recorded: 1, queuedAgain: 1 },
      { recorded: 0, queuedAgain: 0 },
    ]);
    expect(await statesOf(sold.saleId)).toEqual(["CONVERSION COMPLETED", "CONVERSION QUEUED"]);
  });
});
