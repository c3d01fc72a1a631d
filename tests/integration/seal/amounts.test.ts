import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
let yenTeam: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "amounts");
  yenTeam = await createTeam(db.sql, "yen", team.owner);
  await callAs(
    db.sql,
    team.owner,
    (tx) => tx`select public.update_site(${yenTeam.siteId}, 'yen', ${["yen.test"]}, 'JPY', 'Asia/Tokyo', 'en', 1000000)`,
  );
});
afterAll(() => db.drop());

async function sealedFor(given: Record<string, unknown>, who: Team = team) {
  const call = await newLead(db.sql, who);
  await change(db.sql, { team: who }, "seal_call", { id: call, ...given });
  const [row] =
    await db.sql`select amount_cents::text as cents, currency, value_source as source from public.sales where call_id = ${call}`;
  return { ...row };
}

describe("an amount", () => {
  // Guarantee: what reaches the ledger is a sum that somebody could have been paid, to the cent. Nothing is rounded or mended.
  test.each([
    ["zero", { amountCents: 0 }],
    ["negative", { amountCents: -100 }],
    ["above a thousand million", { amountCents: 100_000_000_001 }],
    ["beyond any integer", { amountCents: 1e300 }],
    ["a fraction of a cent", { amountCents: 0.5 }],
    ["a text", { amountCents: "425000" }],
    ["not a number", { amountCents: "NaN" }],
    ["a list", { amountCents: [425_000] }],
    ["finer than the yen", { amountCents: 150_050, currency: "JPY" }],
  ])("that is %s is refused and leaves the lead open", async (_name, given) => {
    const call = await newLead(db.sql, team);
    const refused = change(db.sql, { team }, "seal_call", { id: call, ...given });
    await expect(refused).rejects.toMatchObject({ code: "PT400", message: "INVALID_AMOUNT" });
    const [row] = await db.sql`select status, version from public.calls where id = ${call}`;
    expect({ ...row }).toEqual({ status: "intent", version: 1 });
  });

  test.each(["try", "TL", "LIRA", "₺", "", "ZZZ", "XXX"])("in the currency %j is refused", async (currency) => {
    const call = await newLead(db.sql, team);
    const refused = change(db.sql, { team }, "seal_call", { id: call, amountCents: 100, currency });
    await expect(refused).rejects.toMatchObject({ message: "INVALID_CURRENCY" });
  });

  test.each([
    ["the smallest", { amountCents: 1 }, "1"],
    ["the largest", { amountCents: 100_000_000_000 }, "100000000000"],
    ["whole yen", { amountCents: 150_000, currency: "JPY" }, "150000"],
    ["hundredths of a dinar", { amountCents: 1250, currency: "KWD" }, "1250"],
  ])("that is %s is kept as it is", async (_name, given, cents) => {
    expect(await sealedFor(given)).toMatchObject({ cents, source: "OPERATOR" });
  });
});

describe("no amount", () => {
  test("means the site's expected value, marked as predicted", async () => {
    await deliverySettings(db.sql, team, { defaultAovCents: 310050 });
    expect(await sealedFor({})).toEqual({ cents: "310050", currency: "TRY", source: "PREDICTED" });
    expect(await sealedFor({ amountCents: null })).toEqual({ cents: "310050", currency: "TRY", source: "PREDICTED" });
  });

  // Guarantee: an average order in lira is not told to Google as dollars.
  test("in another currency than the site's is refused", async () => {
    const call = await newLead(db.sql, team);
    await expect(change(db.sql, { team }, "seal_call", { id: call, currency: "USD" })).rejects.toMatchObject({
      message: "INVALID_CURRENCY",
    });
  });

  test("is rounded to what the site's currency can express", async () => {
    await deliverySettings(db.sql, yenTeam, { defaultAovCents: 1000050 });
    expect(await sealedFor({}, yenTeam)).toEqual({ cents: "1000100", currency: "JPY", source: "PREDICTED" });
  });
});

describe("a correction", () => {
  test("is a new line; the old one stays, and the amounts add up", async () => {
    const call = await newLead(db.sql, team);
    const { body } = await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 });
    await change(db.sql, { team }, "correct_sale", { id: body.saleId, amountCents: 440_000, reason: "Part added" });
    const lines = await db.sql`select kind, amount_cents::int as amount, delta_cents::int as delta from public.revenue_snapshots
      where sale_id = ${String(body.saleId)} order by sequence`;
    expect(lines.map((row) => ({ ...row }))).toEqual([
      { kind: "SEAL", amount: 425_000, delta: 425_000 },
      { kind: "CORRECT", amount: 440_000, delta: 15_000 },
    ]);
  });

  test.each([
    ["to nothing", 0, "INVALID_AMOUNT"],
    ["to less than nothing", -1, "INVALID_AMOUNT"],
    ["without an amount", null, "INVALID_AMOUNT"],
  ])("%s is refused", async (_name, amountCents, message) => {
    const call = await newLead(db.sql, team);
    const { body } = await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 });
    await expect(change(db.sql, { team }, "correct_sale", { id: body.saleId, amountCents })).rejects.toMatchObject({ message });
  });

  test("to the same amount is refused, but says that a predicted one was right", async () => {
    const call = await newLead(db.sql, team);
    const { body } = await change(db.sql, { team }, "seal_call", { id: call });
    const confirmed = await change(db.sql, { team }, "correct_sale", { id: body.saleId, amountCents: 310_050 });
    expect(confirmed.status).toBe(200);
    const again = await change(db.sql, { team }, "correct_sale", { id: body.saleId, amountCents: 310_050 });
    expect(again).toMatchObject({ status: 409, body: { code: "AMOUNT_UNCHANGED" } });
  });
});
