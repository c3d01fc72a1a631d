import type postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { become } from "#tests/fixtures/act-as.ts";
import { defaultActions } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForWorker, minutesLater, type Sealed, sealLead, settleClaim, type WorkerClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { callIn, service } from "#tests/fixtures/service.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { whileOpen } from "#tests/support/while-open.ts";

/**
 * A plain row is answered without its sale's lock. Here each of those who touch the same fact (an answer, a claim, a correction, a
 * cancellation, a withdrawal) is held open while another one comes.
 */

let db: TestDatabase;
let owner: Person;
let team: Team;
let teams = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  owner = await createPerson(db.sql, "owner@plain.test");
});
beforeEach(async () => {
  team = await createApiTeam(db.sql, `plain-${++teams}`, owner);
});
afterAll(() => db.drop());

interface Answer {
  completed: number;
  left: number;
  claim: WorkerClaim | null;
}
const answerArgs = ({ token, rows, batch }: WorkerClaim, limit = 0) => ({
  p_site_id: team.siteUuid,
  p_provider_key: "google_ads",
  p_token: token,
  p_ids: rows.map(({ id }) => id),
  p_indexes: rows.map((_row, index) => index),
  p_sent: { transport: "ads_api", requestId: "r-1", verdict: "CONFIRMED" },
  p_batch: { provider: "google_ads", outcome: "success", credentialsVersion: batch.credentialsVersion, durationMs: 5 },
  p_limit: limit,
});
const answer = (claim: WorkerClaim, { at = minutesLater(5), limit = 0 } = {}) =>
  service<Answer>(db.sql, "settle_and_claim_conversion_jobs", answerArgs(claim, limit), at);
const answerIn = async (tx: postgres.TransactionSql, claim: WorkerClaim) => {
  await tx`select set_config('opsmantik.now', ${minutesLater(5).toISOString()}, true)`;
  return callIn<Answer>(tx, "settle_and_claim_conversion_jobs", answerArgs(claim));
};
const claim = (minute = 1) => claimForWorker(db.sql, team, { at: minutesLater(minute) });
const settleAll = (claimed: WorkerClaim, minute: number) =>
  settleClaim(db.sql, team, claimed, { outcome: "COMPLETED" }, { at: minutesLater(minute) });
const correct = (saleId: string, amountCents: number, minute = 6) =>
  change(db.sql, { team }, "correct_sale", { id: saleId, amountCents }, { at: minutesLater(minute) });

/** An operator's change of a sale in a transaction that stays open. */
const changeIn = async (tx: postgres.TransactionSql, name: "correct_sale" | "cancel_sale", body: Record<string, unknown>) => {
  await become(tx, team.owner.id, minutesLater(4));
  const [row] = await tx.unsafe(`select public.${name}($1, $2, $3) as answer`, [team.siteId, tx.json(body as never), "0".repeat(64)]);
  return row?.answer;
};
const rowsOf = (saleId: string) =>
  db.sql`select kind, status, value_cents::int as value, is_plain as plain from public.offline_conversion_queue
    where sale_id = ${saleId} order by created_at, id`;

/** What Google has of the sale and what is queued to be sent add up to the ledger. */
async function reconciles(saleId: string): Promise<void> {
  const [sum] = await db.sql`
    select s.amount_cents::int as ledger,
      coalesce((select q.value_cents from public.offline_conversion_queue q where q.sale_id = s.id and q.status in ('QUEUED', 'RETRY', 'PROCESSING')
        order by q.created_at desc, q.id desc limit 1),
        (select d.value_cents from private.standing_dispatches d where d.sale_id = s.id), 0)::int as google
    from public.sales s where s.id = ${saleId}`;
  expect(sum?.google).toBe(sum?.ledger);
}

// Guarantee: claim and answer in one call, and the next claim with it; the ledgers read as with two calls.
describe("a batch that arrived whole", () => {
  test("is settled, and the next one is claimed and started", async () => {
    const first = await sealLead(db.sql, team);
    const claimed = await claim();
    const second = await sealLead(db.sql, team, { at: minutesLater(2) });
    const done = await answer(claimed, { limit: 10 });
    expect(done).toMatchObject({ completed: 1, left: 0, claim: { gate: "CLOSED", rows: [{ id: second.id }] } });
    expect(await rowsOf(first.saleId)).toMatchObject([{ status: "COMPLETED" }]);
    const ledger = await db.sql`select batch_id, phase, claimed_count as claimed, completed_count as completed
      from public.provider_upload_attempts where site_id = ${team.siteUuid} order by id`;
    expect(ledger).toMatchObject([
      { batch_id: claimed.token, phase: "STARTED", claimed: 1 },
      { batch_id: claimed.token, phase: "FINISHED", completed: 1 },
      { batch_id: done.claim?.token, phase: "STARTED", claimed: 1 },
    ]);
    const moves = await db.sql`select from_status as was, to_status as now, reason, attempt_count as attempt from public.queue_transitions
      where queue_id = ${first.id} order by id`;
    expect(moves).toMatchObject([
      { was: null, now: "QUEUED", reason: "SEAL", attempt: 0 },
      { was: "QUEUED", now: "PROCESSING", reason: "WORKER_CLAIM", attempt: 1 },
      { was: "PROCESSING", now: "COMPLETED", reason: "WORKER_SETTLE", attempt: 1 },
    ]);
  });

  test("claims nothing without a limit, and nothing is done twice", async () => {
    const row = await sealLead(db.sql, team);
    const claimed = await claim();
    expect(await answer(claimed)).toEqual({ completed: 1, left: 0, claim: null });
    expect(await answer(claimed)).toEqual({ completed: 0, left: 1, claim: null });
    expect(await settleAll(claimed, 6)).toMatchObject({ completed: 0, stale: 1 });
    expect(await db.sql`select from public.provider_dispatches where queue_id = ${row.id}`).toHaveLength(1);
  });

  test.each(["a failure before it", "new credentials", "another claim", "another site"])(
    "leaves everything to settle: %s",
    async (obstacle) => {
      await sealLead(db.sql, team);
      const claimed = await claim();
      const args = answerArgs(claimed, 10);
      if (obstacle === "a failure before it")
        await service(db.sql, "record_provider_outcome", {
          p_site_id: team.siteUuid,
          p_provider_key: "google_ads",
          p_success: false,
          p_transient: true,
        });
      if (obstacle === "new credentials") args.p_batch.credentialsVersion = 7;
      if (obstacle === "another claim") args.p_token = "00000000-0000-4000-8000-000000000000";
      if (obstacle === "another site") args.p_site_id = (await createApiTeam(db.sql, `other-${++teams}`, owner)).siteUuid;
      const done = await service<Answer>(db.sql, "settle_and_claim_conversion_jobs", args, minutesLater(5));
      expect(done).toEqual({ completed: 0, left: 1, claim: null });
      expect(await settleAll(claimed, 6)).toMatchObject({ completed: 1 });
    },
  );

  test("counts stay exact, to the cent", async () => {
    for (const amountCents of [100_00, 250_50]) await sealLead(db.sql, team, { amountCents });
    await answer(await claim());
    await sealLead(db.sql, team, { amountCents: 70_10 });
    const counted =
      await db.sql`select status, row_count::int as rows, value_cents::int as value from private.queue_totals(array[${team.siteUuid}]::uuid[])
      order by status`;
    const real = await db.sql`select status, count(*)::int as rows, sum(value_cents)::int as value from public.offline_conversion_queue
      where site_id = ${team.siteUuid} group by status order by status`;
    expect(counted.map((row) => ({ ...row }))).toEqual(real.map((row) => ({ ...row })));
  });
});

// Guarantee: whichever of an answer and a change of the sale comes first, Google ends with what the ledger says.
// Mutations that break it: drop "q.is_plain" from deliver_rows; drop the trigger changed_sales_end_plain_rows.
describe("an answer and a change of the sale", () => {
  let row: Sealed;
  let claimed: WorkerClaim;
  beforeEach(async () => {
    row = await sealLead(db.sql, team, { amountCents: 100_00 });
    claimed = await claim();
    expect(await rowsOf(row.saleId)).toMatchObject([{ status: "PROCESSING", plain: true }]);
  });

  test("a correction waits for an answer under way, and then corrects what it delivered", async () => {
    await whileOpen(
      db.sql,
      (tx) => answerIn(tx, claimed),
      () => correct(row.saleId, 150_00),
    );
    expect(await rowsOf(row.saleId)).toMatchObject([
      { status: "COMPLETED", value: 100_00 },
      { kind: "RESTATE", status: "QUEUED", value: 150_00 },
    ]);
    await reconciles(row.saleId);
  });

  test("an answer under way that is rolled back leaves the row to the correction", async () => {
    await whileOpen(
      db.sql,
      (tx) => answerIn(tx, claimed),
      () => correct(row.saleId, 150_00),
      "rollback",
    );
    expect(await rowsOf(row.saleId)).toMatchObject([{ status: "PROCESSING", plain: false }]);
    expect(await answer(claimed)).toMatchObject({ completed: 0, left: 1 });
    await settleAll(claimed, 7);
    expect(await rowsOf(row.saleId)).toMatchObject([{ status: "COMPLETED" }, { kind: "RESTATE", value: 150_00 }]);
  });

  test("an answer gives up on a correction that takes long; settle waits for it", async () => {
    let code = "";
    await whileOpen(
      db.sql,
      async (tx) => {
        await changeIn(tx, "correct_sale", { id: row.saleId, amountCents: 150_00 });
        await answer(claimed).catch((error: { code: string }) => {
          code = error.code;
        });
      },
      () => settleAll(claimed, 7),
    );
    expect(code).toBe("55P03");
    expect(await rowsOf(row.saleId)).toMatchObject([
      { status: "COMPLETED", value: 100_00 },
      { kind: "RESTATE", status: "QUEUED", value: 150_00 },
    ]);
    await reconciles(row.saleId);
  });

  // Guarantee: a claim that came too late for a row in flight holds it for a moment, and costs its answer nothing. Mutation: "skip locked" in deliver_rows.
  test("an answer waits for a claim that was too late for its row", async () => {
    // A busy machine may need more than 500 ms to see that the answer waits, and to let it go on.
    const waitAtMost = (time: string) => db.sql.unsafe(`alter function private.deliver_rows set lock_timeout = '${time}'`);
    await waitAtMost("20s");
    const done = await whileOpen(
      db.sql,
      (tx) => tx`select from private.queue_open q where q.id = ${row.id} for update skip locked`,
      () => answer(claimed),
    ).finally(() => waitAtMost("500ms"));
    expect(done).toEqual({ completed: 1, left: 0, claim: null });
  });

  test("a correction that is rolled back changes nothing: the row is plain again", async () => {
    const undo = new Error("on purpose");
    await db.sql
      .begin(async (tx) => {
        await changeIn(tx, "correct_sale", { id: row.saleId, amountCents: 150_00 });
        throw undo;
      })
      .catch((error: unknown) => expect(error).toBe(undo));
    expect(await answer(claimed)).toMatchObject({ completed: 1, left: 0 });
    await reconciles(row.saleId);
  });

  test("a cancellation waits for an answer under way, and then takes back what it delivered", async () => {
    await whileOpen(
      db.sql,
      (tx) => answerIn(tx, claimed),
      () => change(db.sql, { team }, "cancel_sale", { id: row.saleId }, { at: minutesLater(6) }),
    );
    expect(await rowsOf(row.saleId)).toMatchObject([{ status: "COMPLETED" }, { kind: "RETRACT", status: "QUEUED", value: 0 }]);
  });

  test("a withdrawal of consent waits for an answer under way: what Google has can still be corrected", async () => {
    await whileOpen(
      db.sql,
      (tx) => answerIn(tx, claimed),
      () => db.sql`select private.silence_sales(array[${row.saleId}]::uuid[])`,
    );
    const [sale] = await db.sql`select delivery_block as block, gclid from public.sales where id = ${row.saleId}`;
    expect({ ...sale }).toEqual({ block: null, gclid: null });
    expect(await db.sql`select from public.dispatch_identifiers where queue_id = ${row.id}`).toHaveLength(0);
    expect((await correct(row.saleId, 150_00, 8)).status).toBe(200);
    expect(await rowsOf(row.saleId)).toMatchObject([{ status: "COMPLETED" }, { kind: "RESTATE", status: "QUEUED" }]);
  });

  test("a withdrawal before the answer: the late success is booked, and corrections follow", async () => {
    await db.sql`select private.silence_sales(array[${row.saleId}]::uuid[])`;
    expect(await answer(claimed)).toMatchObject({ completed: 0, left: 1 });
    await settleAll(claimed, 7);
    const [sale] = await db.sql`select delivery_block as block from public.sales where id = ${row.saleId}`;
    expect(sale?.block).toBeNull();
  });
});

// Guarantee: what is handed out is what the sale is worth, or the answer corrects it.
describe("a claim and a change of the sale", () => {
  test("a correction waits for a claim under way; the answer then corrects what was handed out", async () => {
    const row = await sealLead(db.sql, team, { amountCents: 100_00 });
    let claimed: WorkerClaim | undefined;
    await whileOpen(
      db.sql,
      async (tx) => {
        await tx`select set_config('opsmantik.now', ${minutesLater(1).toISOString()}, true)`;
        claimed = await callIn(tx, "claim_offline_conversion_jobs_v2", {
          p_site_id: team.siteUuid,
          p_provider_key: "google_ads",
          p_limit: 5,
        });
      },
      () => correct(row.saleId, 150_00, 2),
    );
    expect(claimed?.rows).toMatchObject([{ valueCents: 100_00 }]);
    expect(await rowsOf(row.saleId)).toMatchObject([{ status: "PROCESSING", plain: false }]);
    await settleAll(claimed as WorkerClaim, 3);
    expect(await rowsOf(row.saleId)).toMatchObject([{ value: 100_00 }, { kind: "RESTATE", value: 150_00 }]);
  });

  test("a claim skips what is being corrected, and hands out the new value afterwards", async () => {
    const row = await sealLead(db.sql, team, { amountCents: 100_00 });
    await db.sql.begin(async (tx) => {
      await changeIn(tx, "correct_sale", { id: row.saleId, amountCents: 150_00 });
      expect((await claim(5)).rows).toEqual([]);
    });
    expect((await claim(6)).rows).toMatchObject([{ id: row.id, valueCents: 150_00 }]);
  });
});

// Guarantee: nothing is claimed for an account that the site has left. Mutation: read the credentials in the statement that waits for the lock.
test("an answer that waits for new credentials claims nothing under the old ones", async () => {
  await sealLead(db.sql, team);
  const claimed = await claim();
  await sealLead(db.sql, team, { at: minutesLater(2) });
  const done = await whileOpen(
    db.sql,
    async (tx) => {
      await become(tx, team.owner.id, minutesLater(3));
      const account = { customerId: "1234567890", clientIdTail: "nobody", hasDeveloperToken: false };
      const connection = {
        provider: "google_ads",
        transport: "data_manager",
        keyId: "00000000",
        sealed: "c2VhbGVkIGJ5IG5vYm9keQ==",
        account,
        actions: defaultActions,
      };
      await tx`select public.connect_provider(${team.siteId}, ${tx.json(connection)})`;
    },
    () => answer(claimed, { limit: 10 }),
  );
  expect(done).toEqual({ completed: 0, left: 1, claim: null });
  expect(await settleAll(claimed, 6)).toMatchObject({ completed: 1 });
});

// Guarantee: rows are handed out in the order of the queue, whichever way they are claimed.
// Mutation that breaks it: claim plain rows first.
test("plain rows and others leave in one order", async () => {
  const tried = await sealLead(db.sql, team);
  await settleClaim(db.sql, team, await claim(1), { outcome: "RETRY", category: "TRANSIENT", code: "X" }, { at: minutesLater(2) });
  await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(30));
  const plain: Sealed[] = [];
  for (const minute of [40, 41, 42]) plain.push(await sealLead(db.sql, team, { at: minutesLater(minute) }));
  const corrected = await sealLead(db.sql, team, { at: minutesLater(41.5) });
  await correct(corrected.saleId, 77_00, 45);
  const order = [plain[0], plain[1], corrected, plain[2], tried].map((row) => row?.id);
  const seen: string[] = [];
  for (let minute = 100; minute < 105; minute++) {
    const { rows } = await claimForWorker(db.sql, team, { at: minutesLater(minute), limit: 1 });
    seen.push(...rows.map(({ id }) => id));
  }
  expect(seen).toEqual(order);
});
