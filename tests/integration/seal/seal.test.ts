import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "seal");
});
afterAll(() => db.drop());

const seal = (id: string, more: Record<string, unknown> = {}) =>
  change(db.sql, { team }, "seal_call", { id, amountCents: 425_000, ...more });

describe("a seal", () => {
  // Guarantee: a sealed lead is in the ledger, on the queue and proven, or not sealed at all.
  test("is a sale, a snapshot, a queue row and a proof", async () => {
    const call = await newLead(db.sql, team);
    const { status, body } = await seal(call);
    expect({ status, from: body.from, to: body.to }).toEqual({ status: 200, from: "intent", to: "sealed" });
    const [row] = await db.sql`
      select c.status, c.version, c.seal_status, s.amount_cents, s.currency, s.status as sale, r.delta_cents, r.kind, q.status as queue, q.value_cents,
        q.order_id = s.order_id as same_order, p.from_state, p.to_state, p.facts ->> 'amountCents' as proven
      from public.calls c join public.sales s on s.call_id = c.id join public.revenue_snapshots r on r.sale_id = s.id
      join public.offline_conversion_queue q on q.sale_id = s.id join public.transition_proofs p on p.id = c.last_proof_id
      where c.id = ${call}`;
    expect(row).toEqual({
      status: "sealed",
      version: 2,
      seal_status: "sealed",
      amount_cents: "425000",
      currency: "TRY",
      sale: "CONFIRMED",
      delta_cents: "425000",
      kind: "SEAL",
      queue: "QUEUED",
      value_cents: "425000",
      same_order: true,
      from_state: "intent",
      to_state: "sealed",
      proven: "425000",
    });
  });

  test("taken back within ten minutes leaves the ledger at nothing and the row closed, and sealing again goes on with the same order", async () => {
    const call = await newLead(db.sql, team);
    await seal(call);
    const undone = await change(db.sql, { team }, "undo_call", { id: call });
    expect(undone.body).toMatchObject({ from: "sealed", to: "intent" });
    const again = await seal(call, { amountCents: 100_000 });
    expect(again.body).toMatchObject({ from: "intent", to: "sealed" });
    const rows = await db.sql`
      select q.status, q.value_cents, s.amount_cents, (select sum(delta_cents) from public.revenue_snapshots r where r.sale_id = s.id) as sum
      from public.sales s join public.offline_conversion_queue q on q.sale_id = s.id where s.call_id = ${call}`;
    expect(rows.map((row) => ({ ...row }))).toEqual([{ status: "QUEUED", value_cents: "100000", amount_cents: "100000", sum: "100000" }]);
  });

  test("of a second call of the same visit is refused unless it is said to be another sale", async () => {
    const first = await newLead(db.sql, team, { visitor: "two-calls" });
    const second = await newLead(db.sql, team, { visitor: "two-calls" });
    await seal(first);
    const refused = await seal(second);
    expect(refused).toMatchObject({ status: 409, body: { code: "VISIT_ALREADY_SEALED", amountCents: 425000 } });
    expect((await seal(second, { separateSale: true })).status).toBe(200);
  });

  test("a stale screen gets 409 and sees what changed", async () => {
    const call = await newLead(db.sql, team);
    await seal(call, { expectedVersion: 1 });
    const stale = await seal(call, { amountCents: 1, expectedVersion: 1 });
    expect(stale).toMatchObject({
      status: 409,
      body: { code: "STALE_VERSION", status: "sealed", version: 2, changedBy: team.operator.email, amountCents: 425000 },
    });
  });
});
