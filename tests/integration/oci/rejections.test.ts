import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForWorker, minutesLater, type Sealed, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { recordVisit } from "#tests/fixtures/record-visit.ts";
import { callIn } from "#tests/fixtures/service.ts";
import { switchDelivery } from "#tests/fixtures/site.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { type Recorded, recordVerdict } from "#tests/support/verdicts.ts";
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
const sendAgain = (id: string, at: Date, person = team.operator) =>
  callAs<{ ok: boolean; rowId: string }>(db.sql, person, (tx) => tx`select public.send_again(${team.siteId}, ${id})`, at);
const rejectedForGood = { reason: "PROCESSING_ERROR_REASON_INVALID_GCLID" };
const rejectedForNow = { reason: "PROCESSING_ERROR_REASON_INTERNAL_ERROR", retryable: true };
const correct = (saleId: string, amountCents: number, minute: number) =>
  change(db.sql, { team }, "correct_sale", { id: saleId, amountCents }, { at: minutesLater(minute) });
const cancel = (saleId: string, minute: number) => change(db.sql, { team }, "cancel_sale", { id: saleId }, { at: minutesLater(minute) });

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
    await recordVisit(db.sql, team.siteUuid, visitor, [{ at: minutesLater(10), url: "https://verdicts.test/", marketingConsent: false }]);
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
    (tx) => tx`select public.complete_adjustment_by_hand(${team.siteId}, ${tx.json(done)})`,
    minutesLater(4),
  );
  expect(await recordVerdict(db.sql, team, sold.requestId, "REJECTED", minutesLater(40), rejectedForNow)).toMatchObject({ queuedAgain: 1 });
  const [conversion] = (await rowsOf(sold.saleId)).filter(({ status }) => status === "QUEUED");
  expect(conversion).toMatchObject({ kind: "CONVERSION", value: 90_00 });
});

describe("a verdict at the same moment as", () => {
  const verdictIn = (requestId: string, verdict: "REJECTED" | "CONFIRMED", more = {}) =>
    recordVerdict(db.sql, team, requestId, verdict, minutesLater(40), more);
  const operate = (name: string, args: object) => async (tx: Parameters<Parameters<typeof whileOpen>[1]>[0]) => {
    await tx`select set_config('opsmantik.now', ${minutesLater(40).toISOString()}, true),
      set_config('request.jwt.claims', ${JSON.stringify({ sub: team.operator.id, role: "authenticated" })}, true)`;
    await tx`select ${tx(`public.${name}`)}(${team.siteId}, ${tx.json(args as never)}, ${"0".repeat(64)}, null)`;
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
        const args = { p_site_id: team.siteUuid, p_request_id: sold.requestId, p_answer: { status: "FAILED", verdicts, rest: null } };
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
