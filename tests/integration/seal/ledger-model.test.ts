import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { claim, retryLater, succeed } from "#tests/support/delivery.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "model");
  await deliverySettings(db.sql, team, { sendDelayMinutes: 0, clickMinAgeHours: 0 });
});
afterAll(() => db.drop());

const runs = process.env.OPSMANTIK_FAULT === "full" ? 1000 : 25;
const amount = fc.integer({ min: 1, max: 5 }).map((units) => units * 10_000);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("seal" as const), amountCents: fc.option(amount, { nil: undefined }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("correct" as const), amountCents: amount }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("cancel" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("undo" as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("claim" as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("succeed" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("retry" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface Sale {
  id: string;
  status: string;
  amount: number;
  ledger: number;
  told: number;
  rows: { id: string; kind: string; status: string; cents: number }[];
}

async function salesOf(call: string): Promise<Sale[]> {
  return await db.sql<Sale[]>`
    select s.id, s.status, s.amount_cents::int as amount,
      (select coalesce(sum(r.delta_cents), 0)::int from public.revenue_snapshots r where r.sale_id = s.id) as ledger,
      coalesce((select case d.kind when 'RETRACT' then 0 else d.value_cents end::int from public.provider_dispatches d where d.sale_id = s.id
                order by d.dispatched_at desc, d.id desc limit 1), 0) as told,
      (select coalesce(jsonb_agg(jsonb_build_object('id', q.id, 'kind', q.kind, 'status', q.status, 'cents', q.value_cents)), '[]')
       from public.offline_conversion_queue q where q.sale_id = s.id and q.status in ('QUEUED', 'RETRY', 'PROCESSING')) as rows
    from public.sales s where s.call_id = ${call} order by s.created_at, s.id`;
}

/** What Google will have been told once everything that can be sent is sent. What is in flight is compared when it lands. */
function willBeTold({ status, told, rows, amount: now }: Sale): number | "in flight" {
  if (rows.some((row) => row.status === "PROCESSING")) return "in flight";
  const [next] = rows.filter((row) => (status === "CONFIRMED") === (row.kind !== "RETRACT"));
  if (next?.status === "RETRY" && next.kind !== "RETRACT") return now; // its next claim takes the newest line
  return next ? next.cents : told;
}

async function take(call: string, taken: Step, at: Date): Promise<void> {
  const sales = await salesOf(call);
  const living = sales.find(({ status }) => status === "CONFIRMED") ?? sales.at(-1);
  const inFlight = sales.flatMap(({ rows }) => rows).find(({ status }) => status === "PROCESSING");
  const options = { at };
  if (taken.do === "seal") await change(db.sql, { team }, "seal_call", { id: call, amountCents: taken.amountCents }, options);
  else if (taken.do === "undo") await change(db.sql, { team }, "undo_call", { id: call }, options);
  else if (taken.do === "correct" && living)
    await change(db.sql, { team }, "correct_sale", { id: living.id, amountCents: taken.amountCents }, options);
  else if (taken.do === "cancel" && living) await change(db.sql, { team }, "cancel_sale", { id: living.id }, options);
  else if (taken.do === "claim") for (const sale of sales) await claim(db.sql, sale.id, at);
  else if (taken.do === "succeed" && inFlight) await succeed(db.sql, inFlight.id, at);
  else if (taken.do === "retry" && inFlight) await retryLater(db.sql, inFlight.id, at);
}

function checkBooks(sales: Sale[]): void {
  expect(sales.filter(({ status }) => status === "CONFIRMED").length).toBeLessThanOrEqual(1);
  for (const sale of sales) {
    expect(sale.ledger, "the lines add up to the amount").toBe(sale.amount);
    const will = willBeTold(sale);
    if (will !== "in flight") expect(will, "what was told and what is queued is the ledger").toBe(sale.amount);
  }
}

// Guarantee: whatever order people and Google act in, the ledger adds up and Google ends up knowing what the ledger says.
test(
  `${runs} random lives of a lead: what was told plus what is queued is always the ledger`,
  async () => {
    let lives = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(step, fc.integer({ min: 1, max: 6 })), { minLength: 3, maxLength: 14 }), async (steps) => {
        let now = new Date("2026-11-01T08:00:00Z").getTime();
        const call = await newLead(db.sql, team, { at: new Date(now), visitor: `life-${lives++}` });
        for (const [taken, minutes] of steps) {
          now += minutes * 60_000;
          await take(call, taken, new Date(now));
          checkBooks(await salesOf(call));
        }
        let books = await salesOf(call);
        for (
          let turn = 0;
          turn < 12 && books.some(({ told, amount: worth, rows }) => told !== worth || rows.some(({ status }) => status === "PROCESSING"));
          turn++
        ) {
          now += 1000;
          await take(call, { do: turn % 2 === 0 ? "succeed" : "claim" }, new Date(now));
          books = await salesOf(call);
        }
        expect(books.map(({ told }) => told)).toEqual(books.map((sale) => sale.amount));
      }),
      { numRuns: runs },
    );
  },
  runs * 10_000,
);
