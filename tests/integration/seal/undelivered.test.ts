import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "undelivered");
  await deliverySettings(db.sql, team, { signalsEnabled: true });
});
afterAll(() => db.drop());

async function afterSeal(call: string) {
  const [row] = await db.sql`
    select c.status, s.status as sale, s.amount_cents::int as amount, s.delivery_block as block, p.facts ->> 'deliveryBlock' as proven,
      (select sum(r.delta_cents)::int from public.revenue_snapshots r where r.sale_id = s.id) as ledger,
      (select count(*)::int from public.offline_conversion_queue q where q.sale_id = s.id) as rows,
      (select count(*)::int from public.marketing_signals g where g.call_id = c.id) as signals
    from public.calls c join public.sales s on s.call_id = c.id join public.transition_proofs p on p.id = c.last_proof_id where c.id = ${call}`;
  return { ...row };
}

// Guarantee: a lead that Google may not or can not hear of is still a customer: it is sealed, in the ledger, and says why it stays here.
describe("a seal that is not delivered", () => {
  test.each([
    ["without a click id", "NO_CLICK_ID", { gclid: null }],
    ["without consent", "NO_CONSENT", { marketingConsent: false, marketingDefault: false }],
    ["with a click that ran out before the seal", "CLICK_EXPIRED", { at: daysAgo(91) }],
  ])("%s is kept and says why", async (_name, block, step) => {
    const call = await newLead(db.sql, team, step);
    const { status } = await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 });
    expect(status).toBe(200);
    expect(await afterSeal(call)).toEqual({
      status: "sealed",
      sale: "CONFIRMED",
      amount: 425_000,
      ledger: 425_000,
      block,
      proven: block,
      rows: 0,
      signals: block === "CLICK_EXPIRED" ? 1 : 0, // that click lived when the call came
    });
  });

  test("stays here through corrections, a cancellation and a second seal", async () => {
    const call = await newLead(db.sql, team, { gclid: null });
    const { body } = await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 });
    await change(db.sql, { team }, "correct_sale", { id: body.saleId, amountCents: 100 });
    await change(db.sql, { team }, "cancel_sale", { id: body.saleId });
    await change(db.sql, { team }, "seal_call", { id: call });
    expect(await afterSeal(call)).toMatchObject({ status: "sealed", amount: 100, ledger: 100, rows: 0 });
  });

  test("a click of exactly ninety days still counts, and its row knows when it runs out", async () => {
    const at = daysAgo(90);
    const call = await newLead(db.sql, team, { at });
    await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 }, { at: new Date(at.getTime() + 90 * 86_400_000) });
    const [row] = await db.sql`select q.click_expires_at - c.clicked_at = interval '90 days' as exact from public.offline_conversion_queue q
      join public.calls c on c.id = q.call_id where c.id = ${call}`;
    expect(row?.exact).toBe(true);
  });
});

// Guarantee: nothing is told to Google about a call that was junk.
describe("junk", () => {
  test("can be neither sealed nor queued, and its stages fall silent", async () => {
    const call = await newLead(db.sql, team);
    await change(db.sql, { team }, "change_call", { id: call, to: "qualified" });
    await change(db.sql, { team }, "change_call", { id: call, to: "junk", reason: "Wrong number" });
    const refused = await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 });
    expect(refused).toMatchObject({ status: 409, body: { code: "ILLEGAL_MOVE", from: "junk", allowed: ["intent"] } });
    const signals =
      await db.sql`select signal_type, dispatch_status, last_error from public.marketing_signals where call_id = ${call} order by 1`;
    expect(signals.map((row) => ({ ...row }))).toEqual([
      { signal_type: "INTENT_CAPTURED", dispatch_status: "FAILED", last_error: "CALL_IS_JUNK" },
      { signal_type: "SEAL_PENDING", dispatch_status: "FAILED", last_error: "CALL_IS_JUNK" },
    ]);
    expect(await db.sql`select from public.sales where call_id = ${call}`).toHaveLength(0);
  });

  test("that was none speaks again, and can be sealed", async () => {
    const call = await newLead(db.sql, team);
    await change(db.sql, { team }, "change_call", { id: call, to: "junk" });
    await change(db.sql, { team }, "change_call", { id: call, to: "intent" });
    const signals = await db.sql`select dispatch_status, last_error from public.marketing_signals where call_id = ${call}`;
    expect(signals.map((row) => ({ ...row }))).toEqual([{ dispatch_status: "PENDING", last_error: null }]);
    expect((await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 })).status).toBe(200);
  });
});
