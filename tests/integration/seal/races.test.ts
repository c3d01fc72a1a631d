import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { createPerson, createTeam, join, type Person, type Team } from "#tests/fixtures/team.ts";
import { forceRace } from "#tests/support/force-race.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
let colleague: Person;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "races");
  colleague = await createPerson(db.sql, "colleague@races.test");
  await join(db.sql, team, colleague, "operator");
});
afterAll(() => db.drop());

const sealSql = (id: string, amountCents: number, key = randomUUID()) => {
  const hash = "1".repeat(64);
  return (tx: Parameters<Parameters<typeof forceRace>[2]>[0]) =>
    tx`select public.seal_call(${team.siteId}, ${tx.json({ id, amountCents })}, ${hash}, ${key})`;
};
const sales = (...calls: string[]) => db.sql`
  select s.amount_cents::int as amount, count(r.id)::int as lines, count(q.id)::int as rows from public.sales s
  join public.revenue_snapshots r on r.sale_id = s.id join public.offline_conversion_queue q on q.sale_id = s.id
  where s.call_id = any (${calls}) group by s.id`;

// Guarantee: an undo that meets a correction under way never takes the corrected sale away. Mutation: without the lock of the sale in
// undo_step the undo never waits there, or takes back the seal that the correction is on.
test("an undo of the seal waits for a correction that is under way, and is refused", async () => {
  const call = await newLead(db.sql, team);
  const { body } = await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 });
  const args = { id: String(body.saleId), amountCents: 200_000 };
  const second = await forceRace(
    db.sql,
    team.operator,
    (tx) => tx`select public.correct_sale(${team.siteId}, ${tx.json(args)}, ${"1".repeat(64)}, ${randomUUID()})`,
    () => change(db.sql, { team, person: colleague }, "undo_call", { id: call, proofId: String(body.proof_id) }),
  );
  expect(second).toMatchObject({ status: 409, body: { code: "STALE_VERSION", amountCents: 200_000 } });
});

describe("two operators at the same moment", () => {
  // Guarantee: one lead can not be told to Google twice because two people had it open. Mutation: without "for update" on the call in
  // move_call the second never waits, and the test times out.
  test("who seal the same lead make one sale; the second is told who was first", async () => {
    const call = await newLead(db.sql, team);
    const second = await forceRace(db.sql, team.operator, sealSql(call, 425_000), () =>
      change(db.sql, { team, person: colleague }, "seal_call", { id: call, amountCents: 240_000, expectedVersion: 1 }),
    );
    expect(second).toMatchObject({
      status: 409,
      body: { code: "STALE_VERSION", status: "sealed", changedBy: team.operator.email, amountCents: 425_000 },
    });
    expect(await sales(call)).toEqual([{ amount: 425_000, lines: 1, rows: 1 }]);
  });

  test("also when the second one's screen sends no version", async () => {
    const call = await newLead(db.sql, team);
    const second = await forceRace(db.sql, team.operator, sealSql(call, 425_000), () =>
      change(db.sql, { team, person: colleague }, "seal_call", { id: call, amountCents: 240_000 }),
    );
    expect(second).toMatchObject({ status: 409, body: { code: "ILLEGAL_MOVE", from: "sealed", to: "sealed" } });
    expect(await sales(call)).toEqual([{ amount: 425_000, lines: 1, rows: 1 }]);
  });

  // Guarantee: a visitor who called and wrote is one customer. Mutation: without the visit's lock both are sealed.
  test("who seal two calls of one visit make one sale", async () => {
    const visitor = `visitor-${randomUUID()}`;
    const [first, other] = [await newLead(db.sql, team, { visitor }), await newLead(db.sql, team, { visitor })];
    const second = await forceRace(db.sql, team.operator, sealSql(first, 425_000), () =>
      change(db.sql, { team, person: colleague }, "seal_call", { id: other, amountCents: 240_000 }),
    );
    expect(second).toMatchObject({ status: 409, body: { code: "VISIT_ALREADY_SEALED", callId: first, amountCents: 425_000 } });
    expect(await sales(first, other)).toEqual([{ amount: 425_000, lines: 1, rows: 1 }]);
  });
});

describe("a double tap", () => {
  // Guarantee: a phone that sends twice is answered twice and counted once. Mutation: without the unique index of the keys, two sales or a 409.
  test("with one key gets the same bytes, while the first is still under way and after", async () => {
    const call = await newLead(db.sql, team);
    const key = randomUUID();
    let first: string | undefined;
    const again = () => change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 }, { key, hash: "1".repeat(64) });
    const second = await forceRace(
      db.sql,
      team.operator,
      async (tx) => {
        const [row] = await sealSql(call, 425_000, key)(tx);
        first = row?.seal_call.body;
      },
      again,
    );
    expect(second).toMatchObject({ status: 200, replayed: true, body: JSON.parse(String(first)) });
    expect(await again()).toEqual(second);
    expect(await sales(call)).toEqual([{ amount: 425_000, lines: 1, rows: 1 }]);
  });

  test("with one key and another amount is refused and changes nothing", async () => {
    const call = await newLead(db.sql, team);
    const key = randomUUID();
    await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 }, { key, hash: "1".repeat(64) });
    await expect(change(db.sql, { team }, "seal_call", { id: call, amountCents: 1 }, { key, hash: "2".repeat(64) })).rejects.toMatchObject({
      code: "PT422",
      message: "IDEMPOTENCY_KEY_REUSED",
    });
    expect(await sales(call)).toEqual([{ amount: 425_000, lines: 1, rows: 1 }]);
  });
});

// Guarantee: a seal never fails because the visitor is still on the page. The worker holds the visit's row and then wants the call's;
// a seal that held the call and wanted the row would be its deadlock. Mutation: locking the session's row makes this seal wait and time out.
test("a seal does not wait for the worker that is storing the same visit", async () => {
  const visitor = `visitor-${randomUUID()}`;
  const call = await newLead(db.sql, team, { visitor });
  await db.sql.begin(async (worker) => {
    await worker`update public.sessions set last_seen_at = last_seen_at where visitor_id = ${visitor}`;
    const sealed = await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 });
    expect(sealed.status).toBe(200);
    await worker`update public.calls set updated_at = updated_at where id = ${call}`;
  });
});
