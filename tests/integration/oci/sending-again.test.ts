import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { actionOf, connectApi, defaultNames } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForWorker, minutesLater, moveConversion, type Sealed, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { act } from "#tests/support/control.ts";
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
const correct = (saleId: string, amountCents: number, minute: number) =>
  change(db.sql, { team }, "correct_sale", { id: saleId, amountCents }, { at: minutesLater(minute) });
const cancel = (saleId: string, minute: number) => change(db.sql, { team }, "cancel_sale", { id: saleId }, { at: minutesLater(minute) });

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
        (tx) => tx`select public.queue_row_story(${team.siteId}, ${id}, 5)`,
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
        (tx) => tx`select public.why_not_counted(${team.siteId}, ${sold.saleId})`,
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
