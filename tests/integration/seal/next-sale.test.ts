import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForScript, claimForWorker, minutesLater, sealLead } from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { createKey } from "#tests/fixtures/site.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { act, listRows } from "#tests/support/control.ts";
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

// Guarantee: a lead never counts twice, also when Google could not be made to forget its first sale. The second one waits for a person.
// Mutations that break it: drop held_sales from sendable_queue, from the script's claim or from the export's page.
describe("the lead's next sale", () => {
  const rowOf = async (saleId: string): Promise<string> => {
    const [row] = await db.sql`select id from public.offline_conversion_queue where sale_id = ${saleId} and kind = 'CONVERSION'`;
    return String(row?.id);
  };
  const heldBy = async (of: Team, id: string, minute: number) => {
    const { rows } = await listRows(db.sql, of, { q: id }, { at: minutesLater(minute) });
    return { heldBy: rows[0]?.heldBy, waitsFor: rows[0]?.waitsFor };
  };
  const done = (of: Team, id: string, minute: number) =>
    callAs(
      db.sql,
      of.operator,
      (tx) => tx`select public.complete_adjustment_by_hand(${of.siteId}, ${tx.json({ id, valueCents: 0 })})`,
      minutesLater(minute),
    );
  /** The first sale's retraction and the row of the sale that follows, sealed while the retraction waits. */
  async function followed() {
    const kept = await cancelledButKept();
    const second = String((await change(db.sql, { team }, "seal_call", { id: kept.callId, amountCents: 77_000 }, { at })).body.saleId);
    const [retraction] = await retractionsOf(kept.saleId);
    return { kept, second, retractionId: String(retraction?.id), rowId: await rowOf(second) };
  }
  const kinds = async (outcome: string, minute: number) => (await settle(outcome, minute)).map(([kind]) => kind);

  test("is held while the retraction waits or fails, says by what, and is released by its success", async () => {
    const { kept, retractionId, rowId } = await followed();
    const held = { heldBy: { saleId: kept.saleId, rowId: retractionId }, waitsFor: "RETRACTION" };
    expect(await heldBy(team, rowId, 10)).toEqual(held);
    for (let n = 1; n <= 5; n++) expect(await kinds("RETRY", n * 100)).toEqual(["RETRACT"]);
    expect(await retractionsOf(kept.saleId)).toMatchObject([{ status: "FAILED" }]);
    expect(await kinds("COMPLETED", 600)).toEqual([]);
    expect(await heldBy(team, rowId, 600)).toEqual(held);
    await act(db.sql, { action: "RETRY_SELECTED", ids: [retractionId] }, { team, at: minutesLater(601) });
    expect(await kinds("COMPLETED", 602)).toEqual(["RETRACT"]);
    expect(await heldBy(team, rowId, 603)).toEqual({ heldBy: null, waitsFor: null });
    expect(await kinds("COMPLETED", 603)).toEqual(["CONVERSION"]);
  });

  test.each([
    ["used up its attempts", 600],
    ["is too late for Google", 54 * 24 * 60],
  ])("is released by a person when the retraction %s", async (_how, minute) => {
    const { retractionId } = await followed();
    for (let n = 1; n <= 5; n++) await settle("RETRY", n * 100);
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(minute));
    expect(await kinds("COMPLETED", minute)).toEqual([]);
    await done(team, retractionId, minute + 1);
    expect(await kinds("COMPLETED", minute + 2)).toEqual(["CONVERSION"]);
  });

  // Mutation that breaks it: drop the row in flight from held_sales.
  test("is held while nobody knows whether the first one arrived", async () => {
    const gclid = `gclid-${randomUUID()}`;
    const first = await sealLead(db.sql, team, { step: { gclid } });
    const claimed = await claimForWorker(db.sql, team, { at: minutesLater(1) });
    await change(db.sql, { team }, "cancel_sale", { id: first.saleId }, { at: minutesLater(2) });
    const second = await draft(gclid);
    await change(db.sql, { team }, "seal_call", { id: first.callId }, { at });
    expect((await heldBy(team, await rowOf(second), 7)).heldBy).toEqual({ saleId: first.saleId, rowId: first.id });
    expect((await claimForWorker(db.sql, team, { at: minutesLater(8) })).rows).toEqual([]);
    const p_results = [{ id: first.id, outcome: "COMPLETED", transport: "ads_api" }];
    const args = { p_site_id: team.siteUuid, p_token: claimed.token, p_results };
    await service(db.sql, "settle_offline_conversion_jobs", args, minutesLater(9));
    expect(await kinds("COMPLETED", 10)).toEqual(["RETRACT"]);
    expect(await kinds("COMPLETED", 11)).toEqual(["CONVERSION"]);
  });

  test("is not handed to a script either, until a person has taken the first one back", async () => {
    const script = await createQueueTeam(db.sql, "followed-script", team.owner);
    const { id } = await createKey(db.sql, { siteId: script.siteId, owner: team.owner }, ["sales"]);
    const gclid = `gclid-${randomUUID()}`;
    const first = await sealLead(db.sql, script, { step: { gclid } });
    await claimForScript(db.sql, script, [first.id], minutesLater(1));
    await service(db.sql, "ack_offline_conversions", { p_site_id: script.siteUuid, p_ids: [first.id] }, minutesLater(2));
    await change(db.sql, { team: script }, "cancel_sale", { id: first.saleId }, { at: minutesLater(3) });
    const second = await draft(gclid, id);
    await change(db.sql, { team: script }, "seal_call", { id: first.callId }, { at });
    const rowId = await rowOf(second);
    const page = async () => {
      const args = { p_site_id: script.siteUuid, p_max_attempts: 5 };
      const { seals } = await service<{ seals: { id: string }[] }>(db.sql, "get_export_page", args, minutesLater(10));
      return seals.map((seal) => seal.id);
    };
    expect(await page()).toEqual([]);
    expect((await claimForScript(db.sql, script, [rowId], minutesLater(10))).rows).toEqual([]);
    const [retraction] = await retractionsOf(first.saleId);
    await done(script, String(retraction?.id), 11);
    expect(await page()).toEqual([rowId]);
    expect((await claimForScript(db.sql, script, [rowId], minutesLater(12))).rows).toMatchObject([{ id: rowId }]);
  });
});
