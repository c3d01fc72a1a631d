import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { connectApi } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForScript, claimForWorker, minutesLater, readRow, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { switchDelivery } from "#tests/fixtures/site.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { failAuth } from "#tests/support/connections.ts";
import { listRows, readStats } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { recordVerdict } from "#tests/support/verdicts.ts";

let db: TestDatabase;
let founder: Person;
let team: Team;
let number = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  founder = await createPerson(db.sql, "founder@figures.test");
});
afterAll(() => db.drop());
beforeEach(async () => {
  number += 1;
  team = await createQueueTeam(db.sql, `figures${number}`, founder, "api");
  await connectApi(db.sql, team);
});

/** Seals a lead and gives it to Google; `requestId` is what its verdict is asked for with. */
async function sent(minute: number) {
  const { id, saleId } = await sealLead(db.sql, team);
  const requestId = `request-${id}`;
  const claim = await claimForWorker(db.sql, team, { at: minutesLater(minute) });
  await settleClaim(db.sql, team, claim, { outcome: "COMPLETED", requestId, recordIndex: 0 }, { at: minutesLater(minute) });
  return { id, saleId, requestId };
}
const reason = "PROCESSING_ERROR_REASON_INVALID_CONVERSION_ACTION_ID";
const rejectedCauses = async (minute: number) => (await readStats(db.sql, team, minutesLater(minute))).rejectedCauses;
const reject = (requestId: string, minute: number) => recordVerdict(db.sql, team, requestId, "REJECTED", minutesLater(minute), { reason });

// Guarantee: what Google rejected is somebody's work until it was sent again or needs no sending, and no longer.
// Mutations: leave out any of the conditions of rejected_causes.
test("a rejection is counted until it is sent again, and not at all once the sale is cancelled", async () => {
  const first = await sent(1);
  const second = await sent(2);
  await reject(first.requestId, 40);
  await reject(second.requestId, 40);
  expect(await rejectedCauses(41)).toEqual([{ code: reason, category: null, count: 2 }]);
  await callAs(db.sql, team.operator, (tx) => tx`select public.send_again(${team.siteId}, ${first.id}::uuid)`, minutesLater(42));
  expect(await rejectedCauses(43)).toMatchObject([{ count: 1 }]); // it waits
  const claim = await claimForWorker(db.sql, team, { at: minutesLater(44) });
  await settleClaim(db.sql, team, claim, { outcome: "COMPLETED", requestId: "again", recordIndex: 0 }, { at: minutesLater(44) });
  expect(await rejectedCauses(45)).toMatchObject([{ count: 1 }]); // Google has it
  await reject("again", 90);
  expect(await rejectedCauses(91)).toMatchObject([{ count: 2 }]); // one sale, not two rejections of it
  await change(db.sql, { team }, "cancel_sale", { id: second.saleId }, { at: minutesLater(92) });
  expect(await rejectedCauses(93)).toMatchObject([{ count: 1 }]);
});

// Guarantee: each tile tells the time of its own rows. Mutation: one minimum for both.
test("the next row of each state has its own time, and a person's work has none", async () => {
  const { id: retried, saleId } = await sealLead(db.sql, team);
  const claim = await claimForWorker(db.sql, team, { at: minutesLater(1) });
  const retryAt = minutesLater(90).toISOString();
  await settleClaim(db.sql, team, claim, { outcome: "RETRY", category: "RATE_LIMIT", code: "X", retryAt }, { at: minutesLater(2) });
  const { id: queued } = await sealLead(db.sql, team);
  const { nextDueAt } = await readStats(db.sql, team, minutesLater(3));
  expect(new Date(String(nextDueAt.RETRY))).toEqual((await readRow(db.sql, retried)).next_retry_at);
  expect(new Date(String(nextDueAt.QUEUED))).toEqual((await readRow(db.sql, queued)).not_before);

  const again = await claimForWorker(db.sql, team, { at: minutesLater(100) });
  await settleClaim(db.sql, team, again, { outcome: "COMPLETED", verdict: "CONFIRMED" }, { at: minutesLater(101) });
  await change(db.sql, { team }, "correct_sale", { id: saleId, amountCents: 90_00 }, { at: minutesLater(102) });
  expect((await readStats(db.sql, team, minutesLater(103))).nextDueAt.QUEUED).not.toBeNull();
  await switchDelivery(db.sql, team, "script");
  expect(await readStats(db.sql, team, minutesLater(103))).toMatchObject({
    totals: { QUEUED: 1 },
    waitingByHand: 1,
    nextDueAt: { QUEUED: null, RETRY: null },
  });
});

// Guarantee: "n conversions wait for new access" promises only what new access sends. Mutation: count every FAILED(AUTH).
test("refused access counts what a worker met, not what a script did", async () => {
  await switchDelivery(db.sql, team, "script");
  const { id } = await sealLead(db.sql, team);
  await claimForScript(db.sql, team, [id], minutesLater(2));
  const failure = { p_site_id: team.siteUuid, p_ids: [id], p_code: "USER_PERMISSION_DENIED", p_category: "AUTH", p_message: "x" };
  await service(db.sql, "fail_offline_conversions", failure, minutesLater(3));
  await switchDelivery(db.sql, team, "api");
  await failAuth(db.sql, team, minutesLater(4));
  expect(await readStats(db.sql, team)).toMatchObject({ totals: { FAILED: 2 }, refusedAccess: 1 });
});

// Guarantee: nobody reads "Google counted it" of a sale that was taken back. Mutation: leave out the look at the retraction.
test("a counted conversion of a cancelled sale says whether it was taken back", async () => {
  const { id, saleId, requestId } = await sent(1);
  await recordVerdict(db.sql, team, requestId, "CONFIRMED", minutesLater(40));
  const takeBack = async (minute: number) =>
    (await listRows(db.sql, team, { kind: "CONVERSION" }, { at: minutesLater(minute) })).rows.find((row) => row.id === id)?.takeBack;
  expect(await takeBack(41)).toBeNull();
  await change(db.sql, { team }, "cancel_sale", { id: saleId }, { at: minutesLater(42) });
  expect(await takeBack(43)).toBe("PENDING");
  const claim = await claimForWorker(db.sql, team, { at: minutesLater(44) });
  expect(claim.rows).toMatchObject([{ kind: "RETRACT" }]);
  await settleClaim(db.sql, team, claim, { outcome: "COMPLETED", verdict: "CONFIRMED" }, { at: minutesLater(45) });
  expect(await takeBack(46)).toBe("DONE");
});

// Guarantee: an owner who goes to the API knows which corrections it may not be able to make. Mutation: count every correction that waits.
test("the preview of a switch to the API counts corrections of what the script sent", async () => {
  const preview = (to: string) => callAs(db.sql, team.owner, (tx) => tx`select public.preview_delivery_switch(${team.siteId}, ${to})`);
  const byApi = await sent(1);
  await recordVerdict(db.sql, team, byApi.requestId, "CONFIRMED", minutesLater(40));
  await switchDelivery(db.sql, team, "script");
  const { id, saleId } = await sealLead(db.sql, team);
  await claimForScript(db.sql, team, [id], minutesLater(41));
  await service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: [id] }, minutesLater(42));
  for (const each of [byApi.saleId, saleId])
    await change(db.sql, { team }, "correct_sale", { id: each, amountCents: 90_00 }, { at: minutesLater(43) });
  expect(await preview("api")).toMatchObject({ waiting: 2, correctionsOfScript: 1 });
  expect(await preview("script")).toMatchObject({ adjustmentsByHand: 2, correctionsOfScript: 0 });
});
