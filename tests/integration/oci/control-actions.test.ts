import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type QueueAction, queueActions } from "#lib/oci/queue-types.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForScript, minutesLater, readRow } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { rowsIn, type StartingState, startingStates } from "#tests/fixtures/rows-in.ts";
import { handOver, type Team } from "#tests/fixtures/team.ts";
import { act, controlAt, preview, undo } from "#tests/support/control.ts";
import { forceRace } from "#tests/support/force-race.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
let other: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createQueueTeam(db.sql, "control");
  other = await handOver(db.sql, await createQueueTeam(db.sql, "elsewhere", team.owner), "owner@elsewhere-control.test");
});
afterAll(() => db.drop());

/** Locks 3 and 4: where each action may start. */
const allowed: Record<QueueAction, StartingState[]> = {
  RETRY_SELECTED: ["FAILED", "RETRY"],
  RESET_TO_QUEUED: ["QUEUED", "RETRY", "PROCESSING", "FAILED"],
  MARK_FAILED: ["PROCESSING", "QUEUED", "RETRY"],
};
const cases = queueActions.flatMap((action) => startingStates.map((state) => [action, state] as const));

// Guarantee: an action moves a row only from where it may, leaves nothing of an old claim behind, and is written down and proven.
test.each(cases)("%s on a %s row", async (action, state) => {
  const [row] = await rowsIn(db.sql, team, state);
  const id = String(row?.id);
  const before = await readRow(db.sql, id);
  const { status, body } = await act(db.sql, { action, ids: [id] }, { team });
  const after = await readRow(db.sql, id);
  expect(status).toBe(200);
  if (!allowed[action].includes(state)) {
    expect(body).toMatchObject({
      affected: 0,
      skipped: [{ id, reason: "ILLEGAL_MOVE", status: state }],
      done: 1,
      total: 1,
      cursor: null,
      undoUntil: null,
    });
    expect(after).toEqual(before);
    return;
  }
  expect(body).toMatchObject({ ok: true, affected: 1, skipped: [], cursor: null });
  expect(after).toMatchObject({
    claimed_at: null,
    claim_token: null,
    next_retry_at: null,
    updated_at: controlAt,
    attempt_count: before.attempt_count,
  });
  if (action === "MARK_FAILED") {
    expect(after).toMatchObject({
      status: "FAILED",
      provider_error_code: "MANUAL_FAIL",
      provider_error_category: "PERMANENT",
      last_error: "MANUALLY_MARKED_FAILED",
    });
  } else {
    const { provider_error_code, provider_error_category, last_error } = before;
    expect(after).toMatchObject({
      status: "QUEUED",
      attempt_base: before.attempt_count,
      provider_error_code,
      provider_error_category,
      last_error,
    });
  }
  const [written] = await db.sql`
    select t.reason, t.actor_id, p.from_state, p.to_state, p.facts ->> 'actionId' as action_id, r.before ->> 'status' as before, r.after ->> 'status' as after
    from public.queue_transitions t join public.transition_proofs p on p.entity_id = t.queue_id and p.occurred_at = t.created_at
    join private.queue_action_rows r on r.proof_id = p.id where t.queue_id = ${id} order by t.id desc limit 1`;
  expect(written).toEqual({
    reason: action,
    actor_id: team.operator.id,
    from_state: state,
    to_state: after.status,
    action_id: body.actionId,
    before: state,
    after: after.status,
  });
});

// Guarantee: what an operator gave up stays given up. A sale's next change brings back what was closed for its cancellation, and nothing opens what was
// superseded again, not even Undo: nobody may write the system's own codes by hand. Mutation: refuse SALE_CANCELLED and SUPERSEDED alone.
test("MARK_FAILED refuses every code by which the queue itself decides", async () => {
  const [row] = await rowsIn(db.sql, team, "QUEUED");
  const [{ codes } = { codes: [] }] = await db.sql<{ codes: string[] }[]>`select private.reserved_codes() as codes`;
  const refused = codes.filter((code) => code !== "MANUAL_FAIL");
  expect(refused.length).toBeGreaterThan(10);
  for (const errorCode of [...refused, " superseded ", "no_consent"]) {
    const doing = act(db.sql, { action: "MARK_FAILED", ids: [row?.id], errorCode }, { team });
    await expect(doing, errorCode).rejects.toMatchObject({ message: "VALIDATION_FAILED", code: "PT400" });
  }
  expect((await readRow(db.sql, String(row?.id))).status).toBe("QUEUED");
});

test("MARK_FAILED takes the given code, category and reason; RESET_TO_QUEUED clears errors when told to", async () => {
  const [row] = await rowsIn(db.sql, team, "RETRY");
  const id = String(row?.id);
  await act(
    db.sql,
    { action: "MARK_FAILED", ids: [id], errorCode: "WRONG_PRICE", errorCategory: "VALIDATION", reason: "Typed twice" },
    { team },
  );
  expect(await readRow(db.sql, id)).toMatchObject({
    status: "FAILED",
    provider_error_code: "WRONG_PRICE",
    provider_error_category: "VALIDATION",
    last_error: "Typed twice",
  });
  await act(db.sql, { action: "RESET_TO_QUEUED", ids: [id], clearErrors: true }, { team, at: minutesLater(41) });
  expect(await readRow(db.sql, id)).toMatchObject({
    status: "QUEUED",
    provider_error_code: null,
    provider_error_category: null,
    last_error: null,
  });
});

describe("who may act", () => {
  test.each(["owner", "operator", "viewer"] as const)("%s", async (role) => {
    const [row] = await rowsIn(db.sql, team, "FAILED");
    const id = String(row?.id);
    for (const action of queueActions) {
      const done = act(db.sql, { action, ids: [id] }, { team, person: team[role] });
      if (role === "viewer") await expect(done).rejects.toMatchObject({ code: "PT403", message: "FORBIDDEN" });
      else expect((await done).status).toBe(200);
    }
  });

  // Guarantee: an operator can not touch, or learn of, another customer's rows, whatever ids they send.
  test("another tenant's rows are as unknown ones", async () => {
    const [theirs] = await rowsIn(db.sql, other, "FAILED");
    const unknown = randomUUID();
    const id = String(theirs?.id);
    for (const action of queueActions) {
      const { body } = await act(db.sql, { action, ids: [id, unknown] }, { team });
      expect(body.affected).toBe(0);
      expect(new Set(body.skipped.map((row) => JSON.stringify({ ...row, id: "" })))).toEqual(
        new Set([JSON.stringify({ id: "", reason: "NOT_FOUND", status: null })]),
      );
    }
    expect((await readRow(db.sql, id)).status).toBe("FAILED");
    await expect(act(db.sql, { action: "RETRY_SELECTED", ids: [id] }, { team: other, person: team.operator })).rejects.toMatchObject({
      code: "PT404",
    });
  });

  test("another tenant's preview and action are unknown too", async () => {
    await rowsIn(db.sql, other, "FAILED");
    const { previewId, digest } = await preview(db.sql, "RETRY_SELECTED", { status: "FAILED" }, { team: other });
    await expect(act(db.sql, { action: "RETRY_SELECTED", previewId, digest }, { team })).rejects.toMatchObject({ code: "PT404" });
    const { body } = await act(db.sql, { action: "RETRY_SELECTED", previewId, digest }, { team: other });
    await expect(undo(db.sql, body.actionId, { team })).rejects.toMatchObject({ code: "PT404" });
  });
});

describe("what an action leaves alone", () => {
  test("a row of a cancelled sale is not queued again", async () => {
    const [row] = await rowsIn(db.sql, team, "FAILED");
    await change(db.sql, { team }, "cancel_sale", { id: row?.saleId }, { at: minutesLater(30) });
    const { body } = await act(db.sql, { action: "RETRY_SELECTED", ids: [row?.id] }, { team });
    expect(body.skipped).toEqual([{ id: row?.id, reason: "SALE_CANCELLED", status: "FAILED" }]);
  });

  // Guarantee: a retry that meets a cancellation in the same moment never queues a cancelled sale.
  test("a sale that is being cancelled at this moment is waited for", async () => {
    const [row] = await rowsIn(db.sql, team, "FAILED");
    const outcome = await forceRace(
      db.sql,
      team.operator,
      (tx) => tx`select public.cancel_sale(${team.siteId}, ${tx.json({ id: String(row?.saleId) })}, ${"1".repeat(64)}, ${randomUUID()})`,
      () => act(db.sql, { action: "RETRY_SELECTED", ids: [row?.id] }, { team }),
    );
    expect(outcome).toMatchObject({ body: { affected: 0, skipped: [{ reason: "SALE_CANCELLED" }] } });
  });

  test("of ids that come twice one is counted, and more than 1,000 are refused", async () => {
    const [row] = await rowsIn(db.sql, team, "FAILED");
    const { body } = await act(db.sql, { action: "RETRY_SELECTED", ids: [row?.id, row?.id] }, { team });
    expect(body).toMatchObject({ affected: 1, total: 1 });
    await expect(
      act(db.sql, { action: "RETRY_SELECTED", ids: Array.from({ length: 1001 }, () => randomUUID()) }, { team }),
    ).rejects.toMatchObject({ code: "PT400" });
  });
});

// Guarantee: an answer that got lost on the way does not make an action happen twice.
test("the same key gives the same bytes again and changes nothing", async () => {
  const [row] = await rowsIn(db.sql, team, "FAILED");
  const key = randomUUID();
  const action = { action: "RETRY_SELECTED" as const, ids: [row?.id] };
  const first = await act(db.sql, action, { team, key });
  await claimForScript(db.sql, team, [String(row?.id)], minutesLater(41));
  const second = await act(db.sql, action, { team, key, at: minutesLater(42) });
  expect(second).toEqual({ ...first, replayed: true });
  expect((await readRow(db.sql, String(row?.id))).status).toBe("PROCESSING");
  await expect(act(db.sql, action, { team, key, hash: "2".repeat(64) })).rejects.toMatchObject({ code: "PT422" });
});

test("the log names who did what, why, and what became of it", async () => {
  const [row] = await rowsIn(db.sql, team, "QUEUED");
  const { body } = await act(db.sql, { action: "MARK_FAILED", ids: [row?.id], reason: "Sold twice" }, { team });
  await undo(db.sql, body.actionId, { team, at: minutesLater(41) });
  const [undone, done] = await callAs<Record<string, unknown>[]>(
    db.sql,
    team.viewer,
    (tx) => tx`select public.list_queue_actions(${team.siteId})`,
    minutesLater(2000),
  ).then((log) => log.filter((entry) => [entry.actionId, entry.undoes].includes(body.actionId)));
  expect(undone).toMatchObject({ action: "UNDO", undoes: body.actionId });
  expect(done).toMatchObject({
    action: "MARK_FAILED",
    by: { kind: "user", name: team.operator.email },
    reason: "Sold twice",
    affected: 1,
    undoneBy: undone?.actionId,
  });
});
