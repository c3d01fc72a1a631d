import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { actAs } from "#tests/fixtures/act-as.ts";
import { change } from "#tests/fixtures/leads.ts";
import { type Claimed, claimForScript, claimForWorker, minutesLater, sealLead } from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { callIn, service } from "#tests/fixtures/service.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { untilSomebodyWaits, whileOpen } from "#tests/support/while-open.ts";

let db: TestDatabase;
let worker: Team;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  worker = await createApiTeam(db.sql, "races-api");
  team = await createQueueTeam(db.sql, "races", worker.owner);
});
afterAll(() => db.drop());

/** A service function in an open transaction. */
async function callAt<T>(tx: postgres.TransactionSql, name: string, args: Record<string, unknown>, at: Date): Promise<T> {
  await tx`select set_config('opsmantik.now', ${at.toISOString()}, true)`;
  return callIn<T>(tx, name, args);
}

const settle = ({ token, rows }: Claimed, minute: number, result: Record<string, unknown>) =>
  service(
    db.sql,
    "settle_offline_conversion_jobs",
    { p_site_id: worker.siteUuid, p_token: token, p_results: rows.map(({ id }) => ({ id, ...result })), p_transport: "ads_api" },
    minutesLater(minute),
  );
const delivered = { outcome: "COMPLETED" };

/** A sale that Google knows of. */
async function deliveredSale() {
  const row = await sealLead(db.sql, worker, { amountCents: 100_00 });
  await settle(await claimForWorker(db.sql, worker, { at: minutesLater(1) }), 2, delivered);
  return row;
}

const adjustmentsOf = (saleId: string) =>
  db.sql`select kind, status, value_cents::int as value, provider_error_code as code from public.offline_conversion_queue
    where sale_id = ${saleId} and kind <> 'CONVERSION' order by created_at, id`;

// Guarantee: a sale never comes back while a worker has its retraction: the lead becomes a sale of its own, with an order of its own.
// Mutation that breaks it: drop hold_retractions from sale_to_seal.
test("a seal again at the moment in which the retraction is claimed", async () => {
  const row = await deliveredSale();
  await change(db.sql, { team: worker }, "cancel_sale", { id: row.saleId }, { at: minutesLater(3) });
  let claimed: Claimed = { token: "", rows: [] };
  const again = await whileOpen(
    db.sql,
    async (tx) => {
      const args = { p_site_id: worker.siteUuid, p_provider_key: "google_ads", p_limit: 500 };
      claimed = await callAt<Claimed>(tx, "claim_offline_conversion_jobs_v2", args, minutesLater(4));
    },
    () => change(db.sql, { team: worker }, "seal_call", { id: row.callId, amountCents: 100_00 }, { at: minutesLater(4) }),
  );
  expect(claimed.rows).toMatchObject([{ kind: "RETRACT" }]);
  await settle(claimed, 5, delivered);
  expect(again.status).toBe(200);
  expect(again.body.saleId).not.toBe(row.saleId);
  const [first] = await db.sql`select status, amount_cents::int as amount from public.sales where id = ${row.saleId}`;
  expect({ ...first }).toEqual({ status: "CANCELED", amount: 0 });
  await settle(await claimForWorker(db.sql, worker, { at: minutesLater(6) }), 7, delivered); // nothing is left for the tests below
});

// Guarantee: a correction that is given up while it is away does not take a later correction with it.
// Mutation that breaks it: drop follow_ledger from oci_attempt_cap.
test("the cap of a correction in flight whose sale changed again", async () => {
  const { saleId } = await deliveredSale();
  await change(db.sql, { team: worker }, "correct_sale", { id: saleId, amountCents: 150_00 }, { at: minutesLater(3) });
  for (let attempt = 0; attempt < 4; attempt++) {
    const claimed = await claimForWorker(db.sql, worker, { at: minutesLater(100 * attempt + 4) });
    await settle(claimed, 100 * attempt + 5, { outcome: "RETRY", category: "TRANSIENT", code: "TIMEOUT" });
  }
  expect((await claimForWorker(db.sql, worker, { at: minutesLater(500) })).rows).toMatchObject([{ attemptCount: 5, kind: "RESTATE" }]);
  await change(db.sql, { team: worker }, "correct_sale", { id: saleId, amountCents: 200_00 }, { at: minutesLater(501) });
  expect(await service(db.sql, "oci_attempt_cap", { p_max_attempts: 5 }, minutesLater(520))).toEqual({ capped: 1 });
  expect(await adjustmentsOf(saleId)).toMatchObject([
    { status: "FAILED", code: "MAX_ATTEMPTS" },
    { status: "QUEUED", value: 200_00 },
  ]);
  await settle(await claimForWorker(db.sql, worker, { at: minutesLater(540) }), 541, delivered);
});

// Guarantee: a correction that may have arrived unheard is corrected, also when the sale is worth again what Google was told before it.
// Mutation that breaks it: drop the look at handed_value_cents from follow_ledger.
test("a correction whose answer is lost, and which is taken back before it is recovered", async () => {
  const { saleId } = await deliveredSale();
  await change(db.sql, { team: worker }, "correct_sale", { id: saleId, amountCents: 150_00 }, { at: minutesLater(3) });
  await claimForWorker(db.sql, worker, { at: minutesLater(4) }); // uploaded, and then the worker died
  await change(db.sql, { team: worker }, "correct_sale", { id: saleId, amountCents: 100_00 }, { at: minutesLater(5) });
  await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(30));
  const again = await claimForWorker(db.sql, worker, { at: minutesLater(31) });
  expect(again.rows).toMatchObject([{ kind: "RESTATE", valueCents: 100_00 }]);
  await settle(again, 32, delivered);
  await settle(await claimForWorker(db.sql, worker, { at: minutesLater(33) }), 34, delivered); // two values were handed out: once more, for certain
  expect((await claimForWorker(db.sql, worker, { at: minutesLater(35) })).rows).toEqual([]);
});

// Guarantee: recovery does not fail, and with it everything it would have brought back, because a sale is being corrected.
// Mutation that breaks it: judge the due rows in the statement that finds them.
test("a retry that comes due at the moment in which its sale is corrected", async () => {
  const { saleId } = await deliveredSale();
  await change(db.sql, { team: worker }, "correct_sale", { id: saleId, amountCents: 150_00 }, { at: minutesLater(3) });
  const claimed = await claimForWorker(db.sql, worker, { at: minutesLater(4) });
  await settle(claimed, 5, { outcome: "FAILED", category: "TRANSIENT", code: "TIMEOUT" });
  const correction = JSON.stringify({ id: saleId, amountCents: 200_00 });
  await actAs(
    db.sql,
    worker.operator.id,
    async (tx) => {
      await tx`select public.correct_sale(${worker.siteId}, ${correction}::text::jsonb, ${"0".repeat(64)}, null)`;
      expect(await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(60))).toMatchObject({ retried: 0 });
    },
    minutesLater(60),
  );
  await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(70));
  expect(await adjustmentsOf(saleId)).toMatchObject([
    { status: "FAILED", code: "SUPERSEDED" },
    { status: "QUEUED", value: 200_00 },
  ]);
});

/** Rows that were handed out once and wait again. */
async function recoveredRows(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let made = 0; made < count; made++) ids.push((await sealLead(db.sql, team)).id);
  await claimForScript(db.sql, team, ids, minutesLater(1));
  await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(20));
  return ids;
}

// Guarantee: an export that meets rows which cannot be sent never stands in the way of a late ack, in whatever order both come upon them.
// Mutation that breaks it: drop skip locked from fail_unexportable_rows: the two wait for each other.
test("a late ack of rows that an export is failing", async () => {
  const [first = "", second = "", third = ""] = await recoveredRows(3);
  const p_rows = [second, third, first].map((id) => ({ id, code: "NO_CLICK_ID", message: "words" }));
  const done = new AbortController();
  let outcomes: Promise<Record<string, unknown>[]> = Promise.resolve([]);
  await db.sql.begin(async (tx) => {
    await tx`select from public.offline_conversion_queue where id = ${third} for update`;
    const failing = service(db.sql, "fail_unexportable_rows", { p_site_id: team.siteUuid, p_rows }, minutesLater(21));
    await Promise.race([untilSomebodyWaits(db.sql, done.signal), failing]);
    const acking = service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: [first, second] }, minutesLater(21));
    await Promise.race([untilTwoWait(done.signal), acking]);
    done.abort();
    outcomes = Promise.all([failing, acking]);
    outcomes.catch(() => undefined); // awaited below
  });
  expect(await outcomes).toEqual([{ failed: 2 }, { updated: 2, refused: [] }]);
});

async function untilTwoWait(giveUp: AbortSignal): Promise<void> {
  while (!giveUp.aborted) {
    const waiting = await db.sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    if (waiting.length >= 2) return;
  }
}

// Guarantee: the ledger of transitions has no gap, also when an answer waited for a claim, and what was delivered is known to be uncertain
// when two claims handed out two values.
test("a late ack at the moment in which the row is claimed again with another value", async () => {
  const row = await sealLead(db.sql, team, { amountCents: 100_00 });
  await claimForScript(db.sql, team, [row.id], minutesLater(1));
  await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(20));
  await change(db.sql, { team }, "correct_sale", { id: row.saleId, amountCents: 200_00 }, { at: minutesLater(21) });
  const args = { p_ids: [row.id], p_site_id: team.siteUuid };
  const answer = await whileOpen(
    db.sql,
    (tx) => callAt(tx, "claim_offline_conversion_rows_for_script_export", args, minutesLater(22)),
    () => service(db.sql, "ack_offline_conversions", args, minutesLater(22)),
  );
  expect(answer).toEqual({ updated: 1, refused: [] });
  const moves = await db.sql`select from_status, to_status from public.queue_transitions where queue_id = ${row.id} order by id`;
  expect(moves.map(({ from_status }) => from_status)).toEqual([null, ...moves.slice(0, -1).map(({ to_status }) => to_status)]);
  const dispatches =
    await db.sql`select value_cents::int as value, is_certain from public.provider_dispatches where sale_id = ${row.saleId}`;
  expect(dispatches).toMatchObject([{ value: 200_00, is_certain: false }]);
  expect(await adjustmentsOf(row.saleId)).toMatchObject([{ kind: "RESTATE", status: "QUEUED", value: 200_00 }]);
});
