import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Invoice, invoice } from "#lib/billing/billing-shapes.ts";
import { type CountedKey, verifyInvoice } from "#lib/billing/verify-invoice.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { admitAt, freezeMonth } from "#tests/fixtures/counted-events.ts";
import { callAt } from "#tests/fixtures/service.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let founder: Team;
let team: Team;
let count = 0;

beforeAll(async () => {
  db = await createTestDatabase();
  founder = await createTeam(db.sql, "founder");
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  team = await createTeam(db.sql, `billed${count}`, founder.owner);
});

const setPlan = (at: string, { limit = 5, base = 149_000, per1000 = 3000, currency = "TRY" } = {}) =>
  callAt(
    db.sql,
    at,
    (tx) => tx`select public.set_site_plan(${team.siteId}, 'Standard "S"', ${limit}, 'soft', ${currency}, null, ${base}, ${per1000})`,
  );
const admit = (at: string, events: number, name = at) => admitAt(db.sql, { siteUuid: team.siteUuid, at, name, count: events });
const freeze = (at: string, month?: string) => freezeMonth(db.sql, at, month ?? null);
const readInvoice = async (month: string): Promise<Invoice> =>
  invoice.parse(await callAs(db.sql, team.viewer, (tx) => tx`select public.get_invoice(${team.siteId}, ${month})`));
const ledger = async (month: string): Promise<CountedKey[]> =>
  db.sql`select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, encode(idempotency_key, 'hex') as key
    from public.ingest_idempotency where site_id = ${team.siteUuid} and to_char(created_at at time zone 'UTC', 'YYYY-MM') = ${month}`;

// Guarantee: a customer pays for what the ledger holds, whatever any counter, cache or event table says.
test("an invoice counts the ledger; forged usage rows and lost payloads change nothing", async () => {
  await setPlan("2026-01-05T00:00:00Z");
  await admit("2026-03-01T00:00:00Z", 3, "first moment");
  await admit("2026-03-31T23:59:59.999Z", 4, "last moment");
  await admit("2026-04-01T00:00:00Z", 2, "next month");
  expect(await admit("2026-03-15T12:00:00Z", 3, "first moment")).toEqual(["duplicate", "duplicate", "duplicate"]);
  await db.sql`insert into public.site_usage_monthly (site_id, year_month, event_count, reconciled_count, updated_at)
    values (${team.siteUuid}, '2026-03', 99999, 99999, now())`;
  await db.sql`delete from public.ingest_fallback_buffer where site_id = ${team.siteUuid}`;
  await freeze("2026-04-03T00:00:00Z", "2026-03");
  const march = await readInvoice("2026-03");
  expect(march).toMatchObject({
    eventCount: 7,
    planName: 'Standard "S"',
    monthlyLimit: 5,
    baseCents: 149_000,
    overageEvents: 2,
    overageCents: 6,
    totalCents: 149_006,
    currency: "TRY",
    adjustments: [],
    dueAt: "2026-04-25T00:00:00Z",
    frozenAt: "2026-04-03T00:00:00Z",
  });
  expect(march.days.map(({ day, events }) => [day, events])).toEqual([
    ["2026-03-01", 3],
    ["2026-03-31", 4],
  ]);
});

// Guarantee: whoever holds the file of events can prove or disprove the invoice without asking us.
test("the invoice's hashes are made again from its text and its events, and one changed bit is found", async () => {
  await setPlan("2026-01-05T00:00:00Z");
  await admit("2026-03-02T10:00:00Z", 130);
  await admit("2026-03-07T10:00:00Z", 9);
  await freeze("2026-04-03T00:00:00Z", "2026-03");
  const march = await readInvoice("2026-03");
  const events = await ledger("2026-03");
  const whole = { hashMatches: true, sumMatches: true, events: "match", counted: 139, differingDays: [] };
  expect(verifyInvoice(march, events)).toEqual(whole);
  expect(verifyInvoice(march, events.toReversed())).toEqual(whole);
  const [first, ...rest] = events;
  const flipped = { at: first?.at ?? "", key: `${first?.key.slice(0, -1)}${first?.key.endsWith("0") ? "1" : "0"}` };
  expect(verifyInvoice(march, [flipped, ...rest])).toMatchObject({ events: "differ", differingDays: [first?.at.slice(0, 10)] });
  expect(verifyInvoice(march, rest)).toMatchObject({ events: "differ" });
  expect(verifyInvoice({ ...march, totalCents: march.totalCents - 1 }, events)).toMatchObject({ hashMatches: false, sumMatches: false });
  expect(verifyInvoice({ ...march, planName: null }, events)).toMatchObject({ hashMatches: false });
});

test("freezing twice leaves one invoice, and the first one", async () => {
  await admit("2026-03-02T10:00:00Z", 2);
  expect(await freeze("2026-04-03T00:00:00Z", "2026-03")).toMatchObject({ state: "closed", frozen: 1 });
  const before = await readInvoice("2026-03");
  await admit("2026-03-02T11:00:00Z", 5);
  expect(await freeze("2026-04-04T00:00:00Z", "2026-03")).toMatchObject({ state: "closed", frozen: 0 });
  expect(await readInvoice("2026-03")).toEqual(before);
});

// Guarantee: two crons at once do not bill a month twice. Mutation: without the lock in freeze_invoice the second fails on the key.
test("a second freeze waits for the first and then finds its work done", async () => {
  await admit("2026-03-02T10:00:00Z", 2);
  let second: Promise<unknown> | undefined;
  await db.sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', '2026-04-03T00:00:00Z', true)`;
    await tx`select public.freeze_invoices('2026-03')`;
    second = freeze("2026-04-03T00:00:00Z", "2026-03").catch((error: unknown) => error);
    for (let waiting = 0; waiting === 0; ) {
      waiting = (await db.sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).length;
    }
  });
  expect(await second).toMatchObject({ frozen: 0 });
});

// Guarantee: a month is not closed while its last events may still be on their way.
test("inside the grace of 48 hours nothing is frozen; the month before is what is meant without a month", async () => {
  await admit("2026-03-31T23:00:00Z", 2);
  for (const at of ["2026-03-20T00:00:00Z", "2026-04-01T00:00:00Z", "2026-04-02T23:59:59Z"]) {
    expect(await freeze(at, "2026-03")).toMatchObject({ state: "open", frozen: 0, freezableAt: "2026-04-03T00:00:00Z" });
  }
  expect(await freeze("2026-04-02T12:00:00Z")).toMatchObject({ state: "open", yearMonth: "2026-03" });
  expect(await freeze("2026-04-03T00:00:00Z")).toMatchObject({ state: "closed", yearMonth: "2026-03", frozen: 1 });
});

test("a month that is no month is refused", async () => {
  for (const month of ["2026-13", "2026-3", "march"]) {
    await expect(freeze("2026-04-03T00:00:00Z", month)).rejects.toMatchObject({ code: "PT400", message: "VALIDATION_FAILED" });
  }
});

// Guarantee: nothing is billed twice or forgotten when an event turns up after its month was closed.
test("a row that turns up after the freeze is a line in the next invoice, once, at the price of its own month", async () => {
  await setPlan("2026-01-05T00:00:00Z", { limit: 3, per1000: 100_000 });
  await admit("2026-03-02T10:00:00Z", 2);
  await freeze("2026-04-03T00:00:00Z", "2026-03");
  await admit("2026-03-30T10:00:00Z", 3, "late"); // 5 in all, 2 over the limit of March
  await setPlan("2026-04-10T00:00:00Z", { limit: 1000, per1000: 1 });
  await admit("2026-04-11T00:00:00Z", 1);
  await freeze("2026-05-03T00:00:00Z", "2026-04");
  const april = await readInvoice("2026-04");
  expect(april.adjustments).toMatchObject([{ yearMonth: "2026-03", events: 3, cents: 200, eventCount: 5 }]);
  expect(april).toMatchObject({ eventCount: 1, overageCents: 0, totalCents: 149_000 + 200 });
  expect(verifyInvoice(april, await ledger("2026-04"))).toMatchObject({ hashMatches: true, sumMatches: true, events: "match" });
  const march = await readInvoice("2026-03");
  expect(march).toMatchObject({ eventCount: 2, corrections: [{ inInvoice: "2026-04", events: 3 }] });
  expect(verifyInvoice(march, await ledger("2026-03"))).toMatchObject({ hashMatches: true, events: "corrected" });
  await freeze("2026-06-03T00:00:00Z", "2026-05");
  expect((await readInvoice("2026-05")).adjustments).toEqual([]);
});

test("a plan of another currency puts the count right and converts no money", async () => {
  await setPlan("2026-01-05T00:00:00Z", { limit: 1, per1000: 100_000 });
  await admit("2026-03-02T10:00:00Z", 1);
  await freeze("2026-04-03T00:00:00Z", "2026-03");
  await admit("2026-03-30T10:00:00Z", 1, "late");
  await setPlan("2026-04-10T00:00:00Z", { currency: "EUR" });
  await freeze("2026-05-03T00:00:00Z", "2026-04");
  expect((await readInvoice("2026-04")).adjustments).toMatchObject([{ events: 1, cents: 0 }]);
});

// Guarantee: changing the plan on the first of a month does not reprice the month before.
test("an invoice has the plan that was in force when its month ended", async () => {
  await setPlan("2026-03-10T00:00:00Z", { base: 100 });
  await setPlan("2026-04-01T00:00:00Z", { base: 999 });
  await freeze("2026-04-03T00:00:00Z", "2026-03");
  expect((await readInvoice("2026-03")).baseCents).toBe(100);
  await freeze("2026-04-03T00:00:00Z", "2026-02");
  await expect(readInvoice("2026-02")).rejects.toMatchObject({ message: "NOT_FOUND" });
});

test("a site without a plan is invoiced at nothing, one without plan and events not at all", async () => {
  await freeze("2026-04-03T00:00:00Z", "2026-03");
  await expect(readInvoice("2026-03")).rejects.toMatchObject({ message: "NOT_FOUND" });
  await admit("2026-03-02T10:00:00Z", 4);
  await freeze("2026-04-03T00:00:00Z", "2026-03");
  expect(await readInvoice("2026-03")).toMatchObject({ eventCount: 4, planName: null, totalCents: 0, currency: "TRY" });
});

// Guarantee: an invoice that a customer holds is the invoice we hold, whoever has got into the database.
test("an invoice cannot be changed, deleted or truncated, not even by the owner of the tables", async () => {
  await admit("2026-03-02T10:00:00Z", 4);
  await freeze("2026-04-03T00:00:00Z", "2026-03");
  const statements = [
    "update public.invoices set total_cents = 0",
    "delete from public.invoices",
    "truncate public.invoices",
    "truncate public.invoices, public.sites cascade",
  ];
  for (const statement of statements) {
    await expect(db.sql.unsafe(statement), statement).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT" });
    for (const role of ["anon", "authenticated", "service_role", "opsmantik_app"]) {
      const tried = db.sql.begin(async (tx) => {
        await tx.unsafe(`set local role ${role}`);
        await tx.unsafe(statement);
      });
      await expect(tried, `${statement} as ${role}`).rejects.toMatchObject({ code: "42501" });
    }
  }
  for (const statement of ["update private.plan_changes set base_price_cents = 0", "truncate private.plan_changes"]) {
    await setPlan("2026-01-05T00:00:00Z");
    await expect(db.sql.unsafe(statement), statement).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT" });
  }
  const nonsense = db.sql`insert into public.invoices select (jsonb_populate_record(v, '{"year_month":"2020-01","total_cents":1}')).* from public.invoices v limit 1`;
  await expect(nonsense).rejects.toMatchObject({ constraint_name: "total_is_the_sum_of_its_lines" });
});

// Guarantee: the proof of a month that was never invoiced is not thrown away.
test("cleanup takes expired rows of months that have their invoice, and nothing else", async () => {
  const purge = (at: string) => callAt<{ purged: number }>(db.sql, at, (tx) => tx`select public.purge_expired_idempotency()`);
  const left = async () =>
    Number((await db.sql`select count(*) from public.ingest_idempotency where site_id = ${team.siteUuid}`)[0]?.count);
  await admit("2025-01-05T00:00:00Z", 3, "january");
  await admit("2025-02-05T00:00:00Z", 2, "february");
  await purge("2025-12-01T00:00:00Z");
  expect(await left()).toBe(5);
  await freeze("2025-02-03T00:00:00Z", "2025-01");
  await purge("2025-04-04T00:00:00Z"); // January's row lives 90 days, to the 5th
  expect(await left()).toBe(5);
  await purge("2025-04-05T00:00:01Z");
  expect(await left()).toBe(2);
  await purge("2026-12-01T00:00:00Z");
  expect(await left()).toBe(2);
});

test("a month is recounted only while none of its rows can have expired: cleanup never becomes a credit", async () => {
  await setPlan("2024-12-05T00:00:00Z", { limit: 1, per1000: 100_000 });
  await admit("2025-01-05T00:00:00Z", 3, "january");
  await freeze("2025-02-03T00:00:00Z", "2025-01");
  await callAt(db.sql, "2025-06-01T00:00:00Z", (tx) => tx`select public.purge_expired_idempotency()`);
  await admit("2025-05-05T00:00:00Z", 1, "may");
  await freeze("2025-06-03T00:00:00Z", "2025-05");
  expect((await readInvoice("2025-05")).adjustments).toEqual([]);
});
