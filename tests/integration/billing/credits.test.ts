import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { billingOverview, type Invoice, invoice } from "#lib/billing/billing-shapes.ts";
import { type CountedKey, verifyInvoice } from "#lib/billing/verify-invoice.ts";
import { receiptFault } from "#lib/contracts/proof-hash.ts";
import { proofReceipt } from "#lib/contracts/receipt-shape.ts";
import { verifyProofs } from "#lib/contracts/verify-proofs.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { admitAt, freezeMonth } from "#tests/fixtures/counted-events.ts";
import { callAt } from "#tests/fixtures/service.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let db: TestDatabase;
let founder: Team;
let team: Team;
let count = 0;

beforeAll(async () => {
  db = await createTestDatabase();
  founder = await createTeam(db.sql, "founder");
});
afterAll(() => db.drop());
/** March has 30 events on the 2nd and 8 on the 7th; 20 are in the plan, each one more costs a unit of the currency. */
beforeEach(async () => {
  count += 1;
  team = await createTeam(db.sql, `credited${count}`, founder.owner);
  await setPlan("2026-01-05T00:00:00Z", "TRY");
  await admit("2026-03-02T10:00:00Z", 30);
  await admit("2026-03-07T10:00:00Z", 8);
});

const setPlan = (at: string, currency: string) =>
  callAt(db.sql, at, (tx) => tx`select public.set_site_plan(${team.siteId}, 'Standard', 20, 'soft', ${currency}, null, 1000, 100000)`);
const admit = (at: string, events: number) => admitAt(db.sql, { siteUuid: team.siteUuid, at, name: at, count: events });
const freeze = (at: string, month: string) => freezeMonth(db.sql, at, month);
const credit = (at: string, { day = "2026-03-02", units = 5, reason = "Flood from one network" } = {}) =>
  callAt<{ proofId: string; isNew: boolean; events: number; credited: number }>(
    db.sql,
    at,
    (tx) => tx`select public.credit_billed_day(${team.siteId}, ${day}::date, ${units}::bigint, ${reason})`,
  );
const readInvoice = async (month: string): Promise<Invoice> =>
  invoice.parse(await callAs(db.sql, team.operator, (tx) => tx`select public.get_invoice(${team.siteId}, ${month})`));
const ledger = async (month: string): Promise<CountedKey[]> =>
  db.sql`select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, encode(idempotency_key, 'hex') as key
    from public.ingest_idempotency where site_id = ${team.siteUuid} and to_char(created_at at time zone 'UTC', 'YYYY-MM') = ${month}`;
const credited = async (at: string) => {
  const answer = await callAs(db.sql, team.operator, (tx) => tx`select public.billing_overview(${team.siteId})`, new Date(at));
  return billingOverview.parse(answer).credits;
};
const verified = { hashMatches: true, sumMatches: true, events: "match" };

// Guarantee: a credit changes the price of a month and never its count. Mutation: leave the credits out of total_cents or of invoice_text.
test("a credit of an open month is a line in its invoice; the count stays the ledger's and both prove themselves", async () => {
  expect(await credit("2026-03-10T00:00:00Z")).toMatchObject({ isNew: true, events: 30, credited: 5 });
  expect(await credited("2026-03-10T01:00:00Z")).toMatchObject([
    { day: "2026-03-02", units: 5, dayEvents: 30, reason: "Flood from one network", inInvoice: null },
  ]);
  await freeze("2026-04-03T00:00:00Z", "2026-03");
  const march = await readInvoice("2026-03");
  expect(march).toMatchObject({ eventCount: 38, overageEvents: 18, overageCents: 1800, totalCents: 1000 + 1800 - 500 });
  expect(march.credits).toMatchObject([{ day: "2026-03-02", units: 5, cents: -500, reason: "Flood from one network" }]);
  const events = await ledger("2026-03");
  expect(verifyInvoice(march, events)).toMatchObject(verified);
  expect((await credited("2026-04-04T00:00:00Z"))[0]?.inInvoice).toBe("2026-03");
  const [line] = march.credits;
  if (!line) throw new Error("no line");
  for (const change of [{ units: 6 }, { cents: -600 }, { day: "2026-03-07" }, { proofHash: "0".repeat(64) }, { monthEvents: 40 }]) {
    const forged = { ...march, credits: [{ ...line, ...change }] };
    expect(verifyInvoice(forged, events), JSON.stringify(change)).toMatchObject({ hashMatches: false });
  }
  expect(verifyInvoice({ ...march, credits: [] }, events)).toMatchObject({ hashMatches: false, sumMatches: false });
  expect(verifyInvoice({ ...march, credits: [{ ...line, cents: -600 }], totalCents: march.totalCents - 100 }, events).sumMatches).toBe(
    false,
  );
});

test("a credit of an invoiced month is a line in the next invoice, at the price of its own month, once", async () => {
  await freeze("2026-04-03T00:00:00Z", "2026-03");
  const before = await readInvoice("2026-03");
  await credit("2026-04-10T00:00:00Z", { units: 5 });
  await credit("2026-04-11T00:00:00Z", { units: 20, reason: "The rest of it" });
  await freeze("2026-05-03T00:00:00Z", "2026-04");
  await freeze("2026-06-03T00:00:00Z", "2026-05");
  expect(await readInvoice("2026-03")).toEqual(before);
  const april = await readInvoice("2026-04");
  // 18 were over the plan: the first credit takes 5 of them, the second the other 13; the last 7 cost nothing.
  expect(april.credits.map(({ units, creditedBefore, cents }) => [units, creditedBefore, cents])).toEqual([
    [5, 0, -500],
    [20, 5, -1300],
  ]);
  expect(april.totalCents).toBe(1000 - 1800);
  expect(verifyInvoice(april, await ledger("2026-04"))).toMatchObject(verified);
  expect((await readInvoice("2026-05")).credits).toEqual([]);
});

test("a site whose month is quiet gets an invoice for the credit that waits", async () => {
  const quiet = await createTeam(db.sql, `quiet${count}`, founder.owner);
  await admitAt(db.sql, { siteUuid: quiet.siteUuid, at: "2026-03-02T10:00:00Z", name: "quiet", count: 3 });
  await freeze("2026-04-03T00:00:00Z", "2026-03");
  await callAt(db.sql, "2026-04-10T00:00:00Z", (tx) => tx`select public.credit_billed_day(${quiet.siteId}, '2026-03-02', 2, 'Goodwill')`);
  await freeze("2026-05-03T00:00:00Z", "2026-04");
  await freeze("2026-06-03T00:00:00Z", "2026-05");
  const invoices = await db.sql`select year_month as month, jsonb_array_length(credits) as credits from public.invoices
    where site_id = ${quiet.siteUuid} order by 1`;
  expect(invoices.map(({ month, credits }) => [month, credits])).toEqual([
    ["2026-03", 0],
    ["2026-04", 1],
  ]);
});

test("after a change of currency the line names the units and converts no money", async () => {
  await freeze("2026-04-03T00:00:00Z", "2026-03");
  await credit("2026-04-10T00:00:00Z");
  await setPlan("2026-04-12T00:00:00Z", "EUR");
  await freeze("2026-05-03T00:00:00Z", "2026-04");
  const april = await readInvoice("2026-04");
  expect(april.credits).toMatchObject([{ units: 5, cents: 0 }]);
  expect(verifyInvoice(april, await ledger("2026-04"))).toMatchObject(verified);
});

test("the same credit asked for again is the one that exists", async () => {
  const first = await credit("2026-03-10T00:00:00Z", { units: 30 });
  const again = await credit("2026-03-11T00:00:00Z", { units: 30 });
  expect(again).toEqual({ ...first, isNew: false });
  expect(await credited("2026-03-12T00:00:00Z")).toHaveLength(1);
});

// Guarantee: nobody is credited more than was counted, whoever asks how often. Mutation: leave v_credited out of the comparison.
test("a day is never credited more than it counted, to the unit", async () => {
  const refused = { code: "PT409", message: "CREDIT_TOO_LARGE" };
  await expect(credit("2026-03-10T00:00:00Z", { units: 31 })).rejects.toMatchObject(refused);
  await credit("2026-03-10T00:00:00Z", { units: 29 });
  await expect(credit("2026-03-10T00:00:00Z", { units: 2 })).rejects.toMatchObject(refused);
  expect(await credit("2026-03-10T00:00:00Z", { units: 1 })).toMatchObject({ credited: 30 });
  await expect(credit("2026-03-10T00:00:00Z", { units: 1, reason: "One more" })).rejects.toMatchObject(refused);
  await expect(credit("2026-03-10T00:00:00Z", { day: "2026-03-03", units: 1 }), "a day without events").rejects.toMatchObject(refused);
});

// Guarantee: two people who credit the same day at once do not credit it twice. Mutation: no lock in credit_billed_day.
test("a second credit waits for the first and is refused when nothing is left", async () => {
  const outcome = whileOpen(
    db.sql,
    (tx) =>
      tx`select set_config('opsmantik.now', '2026-03-10T00:00:00Z', true), public.credit_billed_day(${team.siteId}, '2026-03-02', 30, 'A')`,
    () => credit("2026-03-10T00:00:00Z", { units: 1 }).catch((error: Error) => error.message),
  );
  expect(await outcome).toBe("CREDIT_TOO_LARGE");
});

test.each([
  ["a day that is not over", { day: "2026-03-10" }],
  ["no units", { units: 0 }],
  ["no reason", { reason: "" }],
  ["a reason that hides its direction", { reason: "abc\u202edef" }],
])("%s is refused", async (_name, change) => {
  await expect(credit("2026-03-10T12:00:00Z", change)).rejects.toMatchObject({ code: "PT400", message: "VALIDATION_FAILED" });
});

// Guarantee: a credit is as permanent as a sale: nobody alters it, and its receipt is checked without us.
test("a credit has a receipt that verifies, stands in the chain of proofs and never changes", async () => {
  const { proofId } = await credit("2026-03-10T00:00:00Z");
  await db.sql`select public.seal_proof_blocks()`;
  const receipt = proofReceipt.parse(await callAs(db.sql, team.viewer, (tx) => tx`select public.get_proof(${proofId})`));
  expect(receipt).toMatchObject({ contract: "credit", to: "credited", actor_kind: "system" });
  expect(JSON.parse(receipt.facts)).toEqual({ day: "2026-03-02", units: 5, dayEvents: 30 });
  expect(receiptFault(receipt)).toBeNull();
  expect((await verifyProofs(db.sql)).fault).toBeFalsy();
  for (const statement of [
    "update private.billing_credits set units = 1",
    "delete from private.billing_credits",
    "truncate private.billing_credits",
  ])
    await expect(db.sql.unsafe(statement), statement).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT" });
});

test("the command credits a day, says so again, and refuses the app's login, a wrong day and too many", async () => {
  const run = (args: string[], url = db.adminUrl) => {
    const env = { ...process.env, DATABASE_URL: url };
    const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/credit-day.ts", team.siteId, ...args], {
      encoding: "utf8",
      env,
    });
    return { status, said: stdout + stderr };
  };
  const asked = (day: string, units: string) => ["--day", day, "--units", units, "--reason", "Flood from one network"];
  expect(run(asked("2026-03-02", "5"))).toEqual({
    status: 0,
    said: expect.stringMatching(/^ok {5}credited: 5 units of 2026-03-02.*\n.*counted 30 units, 5/),
  });
  expect(run(asked("2026-03-02", "5"))).toEqual({ status: 0, said: expect.stringMatching(/was credited before/) });
  expect(run(asked("2026-03-02", "26"))).toEqual({ status: 1, said: expect.stringMatching(/more units than it counted/) });
  expect(run(asked("2026-03-02", "1"), db.appUrl)).toEqual({ status: 1, said: expect.stringMatching(/^opsmantik_app may not do this/) });
  expect(run(asked("2026-02-30", "1"))).toEqual({ status: 2, said: expect.stringMatching(/--day/) });
  expect(run(["--day", "2026-03-02", "--units", "1.5"])).toEqual({
    status: 2,
    said: expect.stringMatching(/--units[\s\S]*--reason is missing/),
  });
  expect(await credited("2026-11-01T00:00:00Z")).toHaveLength(1);
});
