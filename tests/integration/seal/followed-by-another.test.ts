import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForWorker, minutesLater, moveConversion, sealLead } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { createKey } from "#tests/fixtures/site.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { act, undo } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
let keyId: string;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createApiTeam(db.sql, "followed");
  const made = await createKey(db.sql, team, ["sales"]);
  keyId = made.id;
});
afterAll(() => db.drop());

const hash = "0".repeat(64);

/** Claims all that is due and answers for it; gives what was handed out, by order. */
async function settle(outcome: string, minute: number): Promise<string[][]> {
  const { token, rows } = await claimForWorker(db.sql, team, { at: minutesLater(minute) });
  const p_results = rows.map(({ id }) => ({ id, outcome, code: "UNAVAILABLE", category: "TRANSIENT" }));
  const args = { p_site_id: team.siteUuid, p_token: token, p_results, p_transport: "ads_api" };
  await service(db.sql, "settle_offline_conversion_jobs", args, minutesLater(minute));
  return rows.map(({ kind, orderId }) => [kind, orderId]);
}

const orderOf = async (saleId: string): Promise<string> => {
  const [sale] = await db.sql`select order_id from public.sales where id = ${saleId}`;
  return String(sale?.order_id);
};
const retractionsOf = (saleId: string) =>
  db.sql`select id, status from public.offline_conversion_queue where sale_id = ${saleId} and kind = 'RETRACT' order by created_at`;

/** Google has the lead's first sale, which was cancelled; its retraction failed once and an operator gave it up. */
async function cancelledButKept() {
  const stamp = randomUUID();
  const row = await sealLead(db.sql, team, { step: { gclid: `gclid-${stamp}` } });
  await settle("COMPLETED", 1);
  await change(db.sql, { team }, "cancel_sale", { id: row.saleId }, { at: minutesLater(2) });
  await settle("RETRY", 3);
  const [retraction] = await retractionsOf(row.saleId);
  await act(db.sql, { action: "MARK_FAILED", ids: [retraction?.id], reason: "Leave it" }, { team, at: minutesLater(4) });
  return { ...row, gclid: `gclid-${stamp}` };
}
type Kept = Awaited<ReturnType<typeof cancelledButKept>>;

const external = (gclid: string) => ({
  externalRef: `till-${randomUUID()}`,
  occurredAt: minutesLater(4).toISOString(),
  amountCents: 77_000,
  gclid,
  marketingConsent: true,
});
async function draft(gclid: string, key = keyId): Promise<string> {
  const [row] = await db.sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${minutesLater(5).toISOString()}, true)`;
    return tx`select (public.record_external_sale(${key}, ${tx.json(external(gclid))}, ${hash}) ->> 'body')::jsonb ->> 'sale_id' as id`;
  });
  return String(row?.id);
}
const at = minutesLater(6);

/** Every way in which a second sale of the lead comes to life. Each gives its id. */
const ways: Record<string, (kept: Kept) => Promise<string>> = {
  "a seal of the lead, without a draft": async ({ callId }) =>
    String((await change(db.sql, { team }, "seal_call", { id: callId, amountCents: 77_000 }, { at })).body.saleId),
  "a seal of the lead that has a draft": async ({ callId, gclid }) => {
    const saleId = await draft(gclid);
    expect((await change(db.sql, { team }, "seal_call", { id: callId }, { at })).body.saleId).toBe(saleId);
    return saleId;
  },
  "an operator's confirmation of the draft": async ({ gclid }) => {
    const id = await draft(gclid);
    await callAs(db.sql, team.operator, (tx) => tx`select public.confirm_sale(${team.siteId}, ${tx.json({ id })}, ${hash})`, at);
    return id;
  },
  "the till's own confirmation of the draft": async ({ gclid }) => {
    const id = await draft(gclid);
    const args = { p_key_id: keyId, p_confirm: { id }, p_request_hash: hash };
    await service(db.sql, "confirm_sale_and_enqueue", args, at);
    return id;
  },
  "an import that seals": async ({ gclid }) => {
    const rows = [{ line: 1, ...external(gclid) }];
    const [line] = await callAs<{ saleId: string; result: string }[]>(
      db.sql,
      team.operator,
      (tx) => tx`select public.import_sales(${team.siteId}, ${tx.json(rows)}, true)`,
      at,
    );
    expect(line?.result).toBe("sealed");
    return String(line?.saleId);
  },
};

// Guarantee: a lead counts once at Google, whichever way its second sale came.
// Mutation that breaks it: call retract_after_all only where seal_sale makes a new sale.
describe("a retraction that was given up is tried again after", () => {
  test.each(Object.entries(ways))("%s", async (_name, seal) => {
    const kept = await cancelledButKept();
    const second = await seal(kept);
    expect(second).not.toBe(kept.saleId);
    expect(await retractionsOf(kept.saleId)).toMatchObject([{ status: "QUEUED" }]);
    // First the one that must go, then the one that follows it: sent together, both might count.
    expect(await settle("COMPLETED", 30)).toEqual([["RETRACT", await orderOf(kept.saleId)]]);
    expect(await settle("COMPLETED", 31)).toEqual([["CONVERSION", await orderOf(second)]]);
  });

  test("a sale from elsewhere that found the call taken, and lives on when the desk's sale is cancelled", async () => {
    const row = await sealLead(db.sql, team, { step: { gclid: "gclid-taken-by-the-desk" } });
    await settle("COMPLETED", 1);
    const second = await draft("gclid-taken-by-the-desk"); // no call of its own: the desk's sale has it
    await change(db.sql, { team }, "cancel_sale", { id: row.saleId }, { at: minutesLater(6) });
    const [retraction] = await retractionsOf(row.saleId);
    await act(db.sql, { action: "MARK_FAILED", ids: [retraction?.id] }, { team, at: minutesLater(7) });
    await callAs(
      db.sql,
      team.operator,
      (tx) => tx`select public.confirm_sale(${team.siteId}, ${tx.json({ id: second })}, ${hash})`,
      minutesLater(8),
    );
    expect(await retractionsOf(row.saleId)).toMatchObject([{ status: "QUEUED" }]);
    await settle("COMPLETED", 30);
    await settle("COMPLETED", 31);
  });
});

// Guarantee: a retraction whose lead has another sale by now is not given up, by whichever door. Mutation: leave is_followed out.
test("a retraction that is needed because another sale follows cannot be given up", async () => {
  const kept = await cancelledButKept();
  await Object.values(ways)[0]?.(kept);
  const [retraction] = await retractionsOf(kept.saleId);
  const id = String(retraction?.id);
  const acted = await act(db.sql, { action: "MARK_FAILED", ids: [id] }, { team, at: minutesLater(20) });
  expect(acted.body).toMatchObject({ affected: 0, skipped: [{ id, reason: "ILLEGAL_MOVE" }] });
  expect(await moveConversion(db.sql, team, { id, to: "FAILED" }, minutesLater(20))).toMatchObject({ status: 409 });
  expect(await retractionsOf(kept.saleId)).toMatchObject([{ status: "QUEUED" }]);
  await settle("COMPLETED", 30);
  await settle("COMPLETED", 31);
});

// Mutation that breaks it: ask is_followed of MARK_FAILED alone in judge_queue_rows.
test("nor is it given up by taking back the retry that opened it", async () => {
  const kept = await cancelledButKept();
  const [retraction] = await retractionsOf(kept.saleId);
  const id = String(retraction?.id);
  const retried = await act(db.sql, { action: "RETRY_SELECTED", ids: [id] }, { team, at: minutesLater(5) });
  await change(db.sql, { team }, "seal_call", { id: kept.callId, amountCents: 77_000 }, { at: minutesLater(6) });
  const undone = await undo(db.sql, retried.body.actionId, { team, at: minutesLater(7) });
  expect(undone.body).toMatchObject({ affected: 0, skipped: [{ id, reason: "ILLEGAL_MOVE" }] });
  expect(await retractionsOf(kept.saleId)).toMatchObject([{ status: "QUEUED" }]);
  await settle("COMPLETED", 30);
  await settle("COMPLETED", 31);
});

test("a sale that comes back itself does not take up its own retraction", async () => {
  const row = await sealLead(db.sql, team);
  await settle("COMPLETED", 1);
  await change(db.sql, { team }, "cancel_sale", { id: row.saleId }, { at: minutesLater(2) });
  const [retraction] = await retractionsOf(row.saleId);
  await act(db.sql, { action: "MARK_FAILED", ids: [retraction?.id] }, { team, at: minutesLater(3) }); // before anybody was handed it
  const again = await change(db.sql, { team }, "seal_call", { id: row.callId }, { at: minutesLater(4) });
  expect(again.body.saleId).toBe(row.saleId);
  expect(await retractionsOf(row.saleId)).toMatchObject([{ status: "FAILED" }]);
  expect(await settle("COMPLETED", 30)).toEqual([]);
});

test("after 54 days Google takes no retraction, and none is tried", async () => {
  const kept = await cancelledButKept();
  const late = minutesLater(54 * 24 * 60);
  await change(db.sql, { team }, "seal_call", { id: kept.callId, amountCents: 77_000 }, { at: late });
  expect(await retractionsOf(kept.saleId)).toMatchObject([{ status: "FAILED" }]);
});
