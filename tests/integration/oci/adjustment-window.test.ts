import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needsPerson } from "#lib/oci/queue/row-state.ts";
import { queueRowStory } from "#lib/oci/queue/row-story.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change } from "#tests/fixtures/leads.ts";
import {
  claimForScript,
  claimForWorker,
  minutesLater,
  moveConversion,
  readRow,
  type Sealed,
  sealedAt,
  sealLead,
} from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { act, listRows, readStats, undo } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let script: Team;
let api: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  script = await createQueueTeam(db.sql, "window");
  api = await createApiTeam(db.sql, "window-api", script.owner);
});
afterAll(() => db.drop());

/** The conversion is the call's, five minutes before the seal: days count from there. */
const day = (days: number, minutes = 0) => minutesLater(days * 24 * 60 + minutes - 5, sealedAt);

async function deliver(team: Team, at: Date): Promise<void> {
  const waiting =
    await db.sql`select id from public.offline_conversion_queue where site_id = ${team.siteUuid} and status = 'QUEUED' and kind = 'CONVERSION'`;
  const ids = waiting.map(({ id }) => String(id));
  if (team === api) await claimForWorker(db.sql, team, { at });
  else await claimForScript(db.sql, team, ids, at);
  await service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: ids }, at);
}

/** A sale that Google has, and on day 50 an adjustment of it that waits. */
async function waitingSince50(team: Team, kind: "RESTATE" | "RETRACT" = "RESTATE"): Promise<Sealed & { adjustmentId: string }> {
  const sold = await sealLead(db.sql, team, { amountCents: 100_00 });
  await deliver(team, day(1));
  if (kind === "RESTATE") await change(db.sql, { team }, "correct_sale", { id: sold.saleId, amountCents: 90_00 }, { at: day(50) });
  else await change(db.sql, { team }, "cancel_sale", { id: sold.saleId }, { at: day(50) });
  const [row] =
    await db.sql`select id from public.offline_conversion_queue where sale_id = ${sold.saleId} and kind = ${kind} and status = 'QUEUED'`;
  return { ...sold, adjustmentId: String(row?.id) };
}
const adjustmentsOf = (saleId: string) =>
  db.sql`select status, value_cents::int as value, provider_error_code as code, provider_error_category as category, last_error as message
    from public.offline_conversion_queue where sale_id = ${saleId} and kind <> 'CONVERSION' order by created_at, id`;
const recover = (at: Date) => service(db.sql, "recover_stuck_offline_conversion_jobs", {}, at);
const done = (id: string, valueCents: number, at: Date) =>
  callAs(
    db.sql,
    script.operator,
    (tx) => tx`select public.complete_adjustment_by_hand(${script.siteId}, ${tx.json({ id, valueCents })})`,
    at,
  );
const expired = { status: "FAILED", code: "ADJUSTMENT_EXPIRED", category: "VALIDATION", message: expect.stringContaining("54 days") };

// Guarantee: a correction that Google no longer takes is shown as what it is, instead of waiting for ever as if it still could be sent.
describe("54 days after the conversion", () => {
  // Mutation that breaks it: return from follow_ledger without closing.
  test("a correction that waits ends when the sale is corrected once more, and none is queued in its place", async () => {
    const { saleId } = await waitingSince50(script);
    await change(db.sql, { team: script }, "correct_sale", { id: saleId, amountCents: 80_00 }, { at: day(55) });
    expect(await adjustmentsOf(saleId)).toMatchObject([expired]);
    const [sale] = await db.sql`select amount_cents::int as amount from public.sales where id = ${saleId}`;
    expect(sale?.amount).toBe(80_00);
  });

  // Mutation that breaks it: click_expires_at of 90 days for adjustments, too; another comparison in the sweep.
  test.each(["RESTATE", "RETRACT"] as const)("%s that waits is ended by the sweep, and not a minute earlier", async (kind) => {
    const { saleId, adjustmentId } = await waitingSince50(script, kind);
    await recover(day(54, -1));
    expect(await adjustmentsOf(saleId)).toMatchObject([{ status: "QUEUED" }]);
    await recover(day(54));
    expect(await adjustmentsOf(saleId)).toMatchObject([expired]);
    const [move] = await db.sql`select reason from public.queue_transitions where queue_id = ${adjustmentId} order by id desc limit 1`;
    expect(move?.reason).toBe("EXPIRED");
  });

  test.each(["RESTATE", "RETRACT"] as const)("no worker is handed a %s, swept or not", async (kind) => {
    const { adjustmentId } = await waitingSince50(api, kind);
    expect((await claimForWorker(db.sql, api, { at: day(54) })).rows).toEqual([]);
    expect((await claimForWorker(db.sql, api, { at: day(54, -1) })).rows).toMatchObject([{ id: adjustmentId }]);
    await recover(day(60));
  });

  test("one that is in flight when the time is up: its success counts, its failure ends it", async () => {
    const [arrives, fails] = [await waitingSince50(api), await waitingSince50(api)];
    const { token } = await claimForWorker(db.sql, api, { at: day(54, -1) });
    const results = [
      { id: arrives.adjustmentId, outcome: "COMPLETED" },
      { id: fails.adjustmentId, outcome: "RETRY", code: "TIMEOUT", category: "TRANSIENT" },
    ];
    const args = { p_site_id: api.siteUuid, p_token: token, p_results: results, p_transport: "ads_api" };
    await service(db.sql, "settle_offline_conversion_jobs", args, day(54, 1));
    expect(await adjustmentsOf(arrives.saleId)).toMatchObject([{ status: "COMPLETED" }]);
    expect(await adjustmentsOf(fails.saleId)).toMatchObject([expired]);
  });

  test("nobody opens it again: no action, no undo, no move; and it asks nobody for anything", async () => {
    const given = await waitingSince50(script);
    const marked = await act(db.sql, { action: "MARK_FAILED", ids: [given.adjustmentId] }, { team: script, at: day(54, -1) });
    const taken = await undo(db.sql, marked.body.actionId, { team: script, at: day(54) });
    expect(taken.body).toMatchObject({ affected: 0, skipped: [{ reason: "ILLEGAL_MOVE" }] });
    const { adjustmentId: id } = await waitingSince50(script);
    await recover(day(54));
    for (const action of ["RETRY_SELECTED", "RESET_TO_QUEUED"] as const) {
      const acted = await act(db.sql, { action, ids: [id] }, { team: script, at: day(54, 1) });
      expect(acted.body).toMatchObject({ affected: 0, skipped: [{ id, reason: "ILLEGAL_MOVE" }] });
    }
    expect(await moveConversion(db.sql, script, { id, to: "QUEUED" }, day(54, 1))).toMatchObject({ status: 409 });
    const story = await callAs(db.sql, script.viewer, (tx) => tx`select public.queue_row_story(${script.siteId}, ${id}, 5)`, day(54, 1));
    expect(queueRowStory.parse(story).row.allowedActions).toEqual([]);
    const stats = await readStats(db.sql, script, day(54, 1));
    expect(stats.failedCauses).toContainEqual(expect.objectContaining({ code: "ADJUSTMENT_EXPIRED" }));
    expect(needsPerson({ ...stats, failedCauses: stats.failedCauses.filter(({ code }) => code === "ADJUSTMENT_EXPIRED") })).toBe(0);
  });

  test("it cannot be marked done by hand either, swept or not", async () => {
    const { adjustmentId } = await waitingSince50(script);
    await expect(done(adjustmentId, 90_00, day(54))).rejects.toMatchObject({ message: "ILLEGAL_MOVE" });
    await expect(done(adjustmentId, 90_00, day(54, -1))).resolves.toMatchObject({ ok: true });
  });
});

// Guarantee: what a person entered at Google is what the sale is worth, not what an old row says.
// Mutation that breaks it: compare with the row's own value.
test("done by hand is compared with the newest snapshot, and the dispatch says that one", async () => {
  const { saleId, adjustmentId } = await waitingSince50(script);
  await act(db.sql, { action: "MARK_FAILED", ids: [adjustmentId] }, { team: script, at: day(51) });
  await change(db.sql, { team: script }, "correct_sale", { id: saleId, amountCents: 80_00 }, { at: day(51, 1) });
  const [newer] = await db.sql`select id from public.offline_conversion_queue where sale_id = ${saleId} and status = 'QUEUED'`;
  await act(db.sql, { action: "MARK_FAILED", ids: [newer?.id] }, { team: script, at: day(51, 2) });
  await act(db.sql, { action: "RETRY_SELECTED", ids: [adjustmentId] }, { team: script, at: day(51, 3) });
  expect(await readRow(db.sql, adjustmentId)).toMatchObject({ status: "QUEUED", value_cents: "9000" });
  // The screen asks for what is right by now, in the list as in the drawer: else nobody could finish it.
  const { rows } = await listRows(db.sql, script, { q: adjustmentId }, { at: day(52) });
  expect(rows).toMatchObject([{ id: adjustmentId, valueCents: 80_00 }]);
  const story = await callAs(db.sql, script.viewer, (tx) => tx`select public.queue_row_story(${script.siteId}, ${adjustmentId}, 5)`);
  expect(queueRowStory.parse(story)).toMatchObject({ row: { valueCents: 80_00 }, payload: { sent: false, valueCents: 80_00 } });

  await expect(done(adjustmentId, 90_00, day(52))).rejects.toMatchObject({
    message: "STALE_VERSION",
    detail: expect.stringContaining('"amountCents": 8000'),
  });
  await done(adjustmentId, 80_00, day(52));
  const [told] = await db.sql`select value_cents::int as value, transport from public.provider_dispatches where queue_id = ${adjustmentId}`;
  expect({ ...told }).toEqual({ value: 80_00, transport: "by_hand" });
  expect(await readRow(db.sql, adjustmentId)).toMatchObject({ status: "COMPLETED", value_cents: "8000" });
});
