import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { change } from "#tests/fixtures/leads.ts";
import { claimForScript, minutesLater, readRow } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { rowsIn, type StartingState } from "#tests/fixtures/rows-in.ts";
import { service } from "#tests/fixtures/service.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { act, controlAt, preview, undo } from "#tests/support/control.ts";
import { forceRace } from "#tests/support/force-race.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createQueueTeam(db.sql, "control");
});
afterAll(() => db.drop());

describe("everything that matches a filter", () => {
  const filter = { errorCode: "FAILED_CODE", minValue: 777_000, maxValue: 777_000 };
  const marked = (count: number, state: StartingState = "FAILED") => rowsIn(db.sql, team, state, count, 777_000);
  const finish = async () => {
    const left = await preview(db.sql, "RETRY_SELECTED", filter, { team });
    await act(db.sql, { action: "RETRY_SELECTED", previewId: left.previewId, digest: left.digest }, { team });
  };

  test("a preview counts what would change and what would not, and changes nothing", async () => {
    const rows = await marked(3);
    await marked(1, "COMPLETED");
    await change(db.sql, { team }, "cancel_sale", { id: rows[0]?.saleId }, { at: minutesLater(30) });
    const seen = await preview(db.sql, "RETRY_SELECTED", { minValue: 777_000, maxValue: 777_000 }, { team });
    expect(seen).toMatchObject({
      count: 2,
      valueCents: { TRY: 1_554_000 },
      byStatus: { FAILED: 2 },
      ineligible: { ILLEGAL_MOVE: 1, SALE_CANCELLED: 1 },
      truncated: false,
    });
    expect(seen.sample.map(({ id }) => id).sort()).toEqual([rows[1]?.id, rows[2]?.id].sort());
    expect(new Date(seen.expiresAt)).toEqual(minutesLater(15, controlAt));
    expect((await readRow(db.sql, String(rows[1]?.id))).status).toBe("FAILED");
    await finish();
  });

  // Guarantee: "all matching" promises no delivery that cannot happen: a click that is too old is not sent again and again.
  // Mutation: without p_unfixable, or without the prefix taken off, all three are retried.
  test("a retry leaves out what it cannot fix and says how many; the other actions take it", async () => {
    const filter = { minValue: 778_000, maxValue: 778_000 };
    const failed = await Promise.all(
      ["NO_CONVERSION_ACTION_FOUND", "CLICK_NOT_FOUND", "PROCESSING_ERROR_REASON_EVENT_TOO_OLD"].map(async (code) => {
        const [row] = await rowsIn(db.sql, team, "PROCESSING", 1, 778_000);
        const failure = { p_site_id: team.siteUuid, p_ids: [row?.id], p_code: code, p_category: "VALIDATION", p_message: "words" };
        await service(db.sql, "fail_offline_conversions", failure, minutesLater(39));
        return String(row?.id);
      }),
    );
    const seen = await preview(db.sql, "RETRY_SELECTED", filter, { team });
    expect(seen).toMatchObject({ count: 1, valueCents: { TRY: 778_000 }, byStatus: { FAILED: 1 }, ineligible: { UNFIXABLE: 2 } });
    expect(await preview(db.sql, "RESET_TO_QUEUED", filter, { team })).toMatchObject({ count: 3, ineligible: {} });
    const { body } = await act(db.sql, { action: "RETRY_SELECTED", previewId: seen.previewId, digest: seen.digest }, { team });
    expect(body).toMatchObject({ affected: 1, total: 1, skipped: [] });
    const states = await Promise.all(failed.map(async (id) => (await readRow(db.sql, id)).status));
    expect(states).toEqual(["QUEUED", "FAILED", "FAILED"]);
  });

  // Guarantee: what an operator confirmed is what happens. A row that failed after they looked is not retried unseen, and one that moved
  // meanwhile is not moved again.
  test("the commit changes exactly the frozen rows, and says which moved meanwhile", async () => {
    const [first, second] = await marked(2);
    const seen = await preview(db.sql, "RETRY_SELECTED", filter, { team });
    const [late] = await marked(1);
    await act(db.sql, { action: "RETRY_SELECTED", ids: [first?.id] }, { team, at: minutesLater(41) });
    const { body } = await act(
      db.sql,
      { action: "RETRY_SELECTED", previewId: seen.previewId, digest: seen.digest },
      { team, at: minutesLater(42) },
    );
    expect(body).toMatchObject({ affected: 1, skipped: [{ id: first?.id, reason: "CHANGED_SINCE", status: "QUEUED" }], done: 2, total: 2 });
    expect((await readRow(db.sql, String(second?.id))).status).toBe("QUEUED");
    expect((await readRow(db.sql, String(late?.id))).status).toBe("FAILED");
    await finish();
  });

  // Mutation: without the version in judge_queue_rows the second action marks a row failed that the first had just taken.
  test("a row that another operator is moving at this moment is waited for and then left alone", async () => {
    const [row] = await marked(1, "QUEUED");
    const seen = await preview(
      db.sql,
      "MARK_FAILED",
      { status: "QUEUED", minValue: 777_000, maxValue: 777_000, q: String(row?.id) },
      { team },
    );
    const outcome = await forceRace(
      db.sql,
      team.owner,
      (tx) =>
        tx`select public.act_on_queue(${team.siteId}, ${tx.json({ action: "RESET_TO_QUEUED", ids: [String(row?.id)] })}, ${"1".repeat(64)})`,
      () => act(db.sql, { action: "MARK_FAILED", previewId: seen.previewId, digest: seen.digest, reason: "race" }, { team }),
    );
    expect(outcome).toMatchObject({ body: { affected: 0, skipped: [{ id: row?.id, reason: "CHANGED_SINCE", status: "QUEUED" }] } });
  });

  test("another digest, another action and a preview of 15 minutes ago are refused; an unknown one is not found", async () => {
    await marked(1);
    const { previewId, digest } = await preview(db.sql, "RETRY_SELECTED", filter, { team });
    const commit = (more: object, at = controlAt) => act(db.sql, { action: "RETRY_SELECTED", previewId, digest, ...more }, { team, at });
    expect(await commit({ digest: "0".repeat(64) })).toMatchObject({ status: 409, body: { code: "PREVIEW_MISMATCH" } });
    expect(await commit({ action: "RESET_TO_QUEUED" })).toMatchObject({ status: 409, body: { code: "PREVIEW_MISMATCH" } });
    expect(await commit({}, minutesLater(15, controlAt))).toMatchObject({ status: 409, body: { code: "PREVIEW_EXPIRED" } });
    await expect(commit({ previewId: randomUUID() })).rejects.toMatchObject({ code: "PT404" });
    await finish();
  });

  test("a filter that is not on the list is refused", async () => {
    await expect(preview(db.sql, "RETRY_SELECTED", { "1=1; --": "x" }, { team })).rejects.toMatchObject({ code: "PT400" });
  });

  // Guarantee: a big action is done in steps that can be repeated, each row once.
  test("more than a batch takes several calls, and the last says that it is done", async () => {
    const small = postgres(db.adminUrl, { max: 2, connection: { "opsmantik.action_batch": 4 } as never }); // a setting of ours, unknown to the driver's types
    await rowsIn(db.sql, team, "QUEUED", 6, 31);
    const seen = await preview(small, "MARK_FAILED", { status: "QUEUED", minValue: 31, maxValue: 31 }, { team });
    const step = () => act(small, { action: "MARK_FAILED", previewId: seen.previewId, digest: seen.digest, reason: "many" }, { team });
    const first = (await step()).body;
    expect(first).toMatchObject({ affected: 4, done: 4, total: 6, skipped: [], cursor: `${first.actionId}:4` });
    expect((await step()).body).toMatchObject({ actionId: first.actionId, affected: 6, done: 6, cursor: null });
    expect((await step()).body, "once more").toMatchObject({ affected: 6, done: 6, cursor: null });
    expect((await undo(small, first.actionId, { team })).body).toMatchObject({ affected: 4, done: 4, total: 6 });
    expect((await undo(small, first.actionId, { team })).body).toMatchObject({ affected: 6, cursor: null });
    const [counted] =
      await db.sql`select count(*)::int as n from public.offline_conversion_queue where value_cents = 31 and status = 'QUEUED'`;
    expect(counted?.n).toBe(6);
    await small.end();
  });
});

describe("undo", () => {
  // Guarantee: an action taken back leaves each row as it was, claim, errors and budget included.
  test.each([
    ["RETRY_SELECTED", "FAILED"],
    ["RETRY_SELECTED", "RETRY"],
    ["RESET_TO_QUEUED", "PROCESSING"],
    ["MARK_FAILED", "PROCESSING"],
    ["MARK_FAILED", "QUEUED"],
    ["MARK_FAILED", "RETRY"],
  ] as const)("of %s on a %s row", async (action, state) => {
    const [row] = await rowsIn(db.sql, team, state);
    const before = await readRow(db.sql, String(row?.id));
    const { body } = await act(db.sql, { action, ids: [row?.id] }, { team });
    expect(new Date(String(body.undoUntil))).toEqual(minutesLater(10, controlAt));
    const undone = await undo(db.sql, body.actionId, { team, at: minutesLater(9, controlAt) });
    expect(undone.body).toMatchObject({ affected: 1, skipped: [], undoUntil: null });
    // Once its claim was ended, a row is answered under its sale's lock: the sale may have changed meanwhile.
    const isPlain = before.is_plain && state !== "PROCESSING";
    expect(await readRow(db.sql, String(row?.id))).toEqual({ ...before, is_plain: isPlain, updated_at: minutesLater(9, controlAt) });
    const again = await undo(db.sql, body.actionId, { team, at: minutesLater(9, controlAt) });
    expect(again).toMatchObject({ status: 409, body: { code: "NOTHING_TO_UNDO" } });
    expect(await undo(db.sql, undone.body.actionId, { team })).toMatchObject({ status: 409, body: { code: "NOTHING_TO_UNDO" } });
  });

  test("skips a row that moved since, and is refused after ten minutes", async () => {
    const [kept, moved] = await rowsIn(db.sql, team, "FAILED", 2);
    const { body } = await act(db.sql, { action: "RETRY_SELECTED", ids: [kept?.id, moved?.id] }, { team });
    await claimForScript(db.sql, team, [String(moved?.id)], minutesLater(41));
    const late = await undo(db.sql, body.actionId, { team, at: new Date(minutesLater(10, controlAt).getTime() + 1) });
    expect(late).toMatchObject({ status: 409, body: { code: "UNDO_EXPIRED" } });
    const undone = await undo(db.sql, body.actionId, { team, at: minutesLater(2, controlAt) });
    expect(undone.body).toMatchObject({ affected: 1, skipped: [{ id: moved?.id, reason: "CHANGED_SINCE", status: "PROCESSING" }] });
    expect((await readRow(db.sql, String(kept?.id))).status).toBe("FAILED");
  });

  test("a viewer may not, and an action that changed nothing has nothing to take back", async () => {
    const [row] = await rowsIn(db.sql, team, "COMPLETED");
    const { body } = await act(db.sql, { action: "RETRY_SELECTED", ids: [row?.id] }, { team });
    await expect(undo(db.sql, body.actionId, { team, person: team.viewer })).rejects.toMatchObject({ code: "PT403" });
    expect(await undo(db.sql, body.actionId, { team })).toMatchObject({ status: 409, body: { code: "NOTHING_TO_UNDO" } });
  });
});
