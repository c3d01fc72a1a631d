import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { change } from "#tests/fixtures/leads.ts";
import { type Claimed, claimForScript, claimForWorker, minutesLater, moveConversion, sealLead } from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { recordVisit } from "#tests/fixtures/record-visit.ts";
import { service } from "#tests/fixtures/service.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { act } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
let worker: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createQueueTeam(db.sql, "untrue");
  worker = await createApiTeam(db.sql, "untrue-api", team.owner);
});
afterAll(() => db.drop());

const rowsOf = (saleId: string, kind: string) =>
  db.sql`select id, status, provider_error_code as code from public.offline_conversion_queue where sale_id = ${saleId} and kind = ${kind} order by created_at, id`;

/** Told to Google, cancelled, and the cancellation taken back: the retraction is closed, the sale lives. */
async function retractionOfALivingSale() {
  const row = await sealLead(db.sql, team);
  await claimForScript(db.sql, team, [row.id], minutesLater(1));
  await service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: [row.id] }, minutesLater(2));
  await change(db.sql, { team }, "cancel_sale", { id: row.saleId }, { at: minutesLater(3) });
  await change(db.sql, { team }, "undo_call", { id: row.callId }, { at: minutesLater(4) });
  const [retraction] = await rowsOf(row.saleId, "RETRACT");
  return { ...row, retractionId: String(retraction?.id) };
}

// Guarantee: nobody, by whichever door, makes Google forget a sale that lives.
// Mutation that breaks it: drop the condition on the sale from judge_queue_rows.
test("the retraction of a sale that lives again cannot be opened", async () => {
  const { retractionId, saleId } = await retractionOfALivingSale();
  expect(await rowsOf(saleId, "RETRACT")).toMatchObject([{ status: "FAILED", code: "SUPERSEDED" }]);
  const acted = await act(db.sql, { action: "RETRY_SELECTED", ids: [retractionId] }, { team, at: minutesLater(5) });
  expect(acted.body).toMatchObject({ affected: 0, skipped: [{ id: retractionId, reason: "ILLEGAL_MOVE" }] });
  expect(await moveConversion(db.sql, team, { id: retractionId, to: "QUEUED" }, minutesLater(5))).toMatchObject({ status: 409 });
});

// Guarantee: a lead counts once, also when its first sale was to be taken back from Google and that was given up.
// Mutation that breaks it: seal_sale without retract_after_all.
test("a retraction that was given up is tried again when the lead is sealed anew", async () => {
  const row = await sealLead(db.sql, worker);
  const settled = async (outcome: string, minute: number) => {
    const { token, rows } = await claimForWorker(db.sql, worker, { at: minutesLater(minute) });
    const p_results = rows.map(({ id }) => ({ id, outcome, code: "UNAVAILABLE", category: "TRANSIENT" }));
    await service(
      db.sql,
      "settle_offline_conversion_jobs",
      { p_site_id: worker.siteUuid, p_token: token, p_results, p_transport: "ads_api" },
      minutesLater(minute),
    );
    return rows.map(({ kind }) => kind);
  };
  expect(await settled("COMPLETED", 1)).toEqual(["CONVERSION"]);
  await change(db.sql, { team: worker }, "cancel_sale", { id: row.saleId }, { at: minutesLater(2) });
  expect(await settled("RETRY", 3)).toEqual(["RETRACT"]);
  const [retraction] = await rowsOf(row.saleId, "RETRACT");
  await act(db.sql, { action: "MARK_FAILED", ids: [retraction?.id], reason: "We leave it to them" }, { team: worker, at: minutesLater(4) });
  const { body } = await change(db.sql, { team: worker }, "seal_call", { id: row.callId, amountCents: 90_000 }, { at: minutesLater(5) });
  expect(body.saleId).not.toBe(row.saleId);
  expect(await rowsOf(row.saleId, "RETRACT")).toMatchObject([{ status: "QUEUED", code: null }]);
  expect(await settled("COMPLETED", 6)).toEqual(["RETRACT"]);
  expect(await settled("COMPLETED", 7)).toEqual(["CONVERSION"]);
});

// Guarantee: a correction that Google refuses for good is tried once, and then waits for a person.
test("a correction that fails for good is not queued again by itself; a new amount is a new one", async () => {
  const row = await sealLead(db.sql, worker);
  const settle = async (outcome: Record<string, unknown>, minute: number) => {
    const { token, rows } = await claimForWorker(db.sql, worker, { at: minutesLater(minute) });
    const p_results = rows.map(({ id }) => ({ id, ...outcome }));
    await service(
      db.sql,
      "settle_offline_conversion_jobs",
      { p_site_id: worker.siteUuid, p_token: token, p_results, p_transport: "ads_api" },
      minutesLater(minute + 1),
    );
    return rows.length;
  };
  expect(await settle({ outcome: "COMPLETED" }, 1)).toBe(1);
  await change(db.sql, { team: worker }, "correct_sale", { id: row.saleId, amountCents: 100_000 }, { at: minutesLater(3) });
  expect(await settle({ outcome: "FAILED", code: "INVALID_ARGUMENT", category: "VALIDATION" }, 4)).toBe(1);
  expect(await settle({ outcome: "COMPLETED" }, 6)).toBe(0);
  expect(await rowsOf(row.saleId, "RESTATE")).toMatchObject([{ status: "FAILED" }]);
  await change(db.sql, { team: worker }, "correct_sale", { id: row.saleId, amountCents: 90_000 }, { at: minutesLater(8) });
  expect(await rowsOf(row.saleId, "RESTATE")).toMatchObject([{ status: "FAILED" }, { status: "QUEUED" }]);
});

// Guarantee: consent that is withdrawn before Google was told is honoured, and says so.
describe("consent withdrawn between the seal and the export", () => {
  test("closes the row, keeps the sale, and forgets click and number", async () => {
    const visitor = "withdraws";
    const row = await sealLead(db.sql, team, { step: { visitor, phone: "+905321234567" } });
    await recordVisit(db.sql, team.siteUuid, visitor, [{ at: minutesLater(1), url: "https://untrue.test/", marketingConsent: false }]);
    expect((await claimForScript(db.sql, team, [row.id], minutesLater(2))).rows).toEqual([]);
    expect(await rowsOf(row.saleId, "CONVERSION")).toMatchObject([{ status: "FAILED", code: "NO_CONSENT" }]);
    const [kept] = await db.sql`select s.status, s.delivery_block, s.gclid, c.gclid as click, c.phone from public.sales s
      join public.calls c on c.id = s.call_id where s.id = ${row.saleId}`;
    expect({ ...kept }).toEqual({ status: "CONFIRMED", delivery_block: "NO_CONSENT", gclid: null, click: null, phone: null });
  });

  const withdraw = (of: Team, visitor: string, minute: number) =>
    recordVisit(db.sql, of.siteUuid, visitor, [{ at: minutesLater(minute), url: "https://untrue.test/", marketingConsent: false }]);
  const settleWorker = ({ token, rows }: Claimed, minute: number) =>
    service(
      db.sql,
      "settle_offline_conversion_jobs",
      {
        p_site_id: worker.siteUuid,
        p_token: token,
        p_results: rows.map(({ id }) => ({ id, outcome: "COMPLETED" })),
        p_transport: "ads_api",
      },
      minutesLater(minute),
    );

  // Mutations that break it: drop delivery_block from recovery's and end_claims's look at the sale, or from judge_queue_rows.
  test("closes what was away as soon as it comes back, and no operator opens it again", async () => {
    const row = await sealLead(db.sql, worker, { step: { visitor: "away" } });
    await claimForWorker(db.sql, worker, { at: minutesLater(1) });
    await withdraw(worker, "away", 2);
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(20));
    expect(await rowsOf(row.saleId, "CONVERSION")).toMatchObject([{ status: "FAILED", code: "NO_CONSENT" }]);
    const acted = await act(db.sql, { action: "RETRY_SELECTED", ids: [row.id] }, { team: worker, at: minutesLater(21) });
    expect(acted.body).toMatchObject({ affected: 0, skipped: [{ id: row.id, reason: "ILLEGAL_MOVE" }] });
    expect(await moveConversion(db.sql, worker, { id: row.id, to: "QUEUED" }, minutesLater(21))).toMatchObject({ status: 409 });
    expect((await claimForWorker(db.sql, worker, { at: minutesLater(22) })).rows.map(({ id }) => id)).not.toContain(row.id);
  });

  // Mutation that breaks it: leave delivery_block as it is in complete_rows.
  test("what was away and arrived is taken back when the sale is cancelled", async () => {
    const row = await sealLead(db.sql, worker, { step: { visitor: "arrived" } });
    const claimed = await claimForWorker(db.sql, worker, { at: minutesLater(1) });
    await withdraw(worker, "arrived", 2);
    await settleWorker(claimed, 3);
    await change(db.sql, { team: worker }, "cancel_sale", { id: row.saleId }, { at: minutesLater(4) });
    expect(await rowsOf(row.saleId, "RETRACT")).toMatchObject([{ status: "QUEUED" }]);
  });
});
