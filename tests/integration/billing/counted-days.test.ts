import type postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Invoice, invoice } from "#lib/billing/billing-shapes.ts";
import { verifyInvoice } from "#lib/billing/verify-invoice.ts";
import { shiftMonth } from "#lib/billing/year-month.ts";
import type { SiteId } from "#lib/site.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { admitAt, admitMany, freezeMonth } from "#tests/fixtures/counted-events.ts";
import { callAt } from "#tests/fixtures/service.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { untilSomebodyWaits, whileOpen } from "#tests/support/while-open.ts";

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
  team = await createTeam(db.sql, `days${count}`, founder.owner);
});

// Months that ended, and of which no row has expired.
const thisMonth = new Date().toISOString().slice(0, 7);
const [first, second] = [shiftMonth(thisMonth, -2), shiftMonth(thisMonth, -1)];
const afterFirst = `${second}-03T00:00:00Z`;
const afterSecond = `${thisMonth}-03T00:00:00Z`;

const admit = (at: string, events: number, name = at) => admitAt(db.sql, { siteUuid: team.siteUuid, at, name, count: events });
const event = (key: string) => ({ k: key.repeat(64), e: null, n: "interaction/view", p: {} });
const readInvoice = async (month: string): Promise<Invoice> =>
  invoice.parse(await callAs(db.sql, team.viewer, (tx) => tx`select public.get_invoice(${team.siteId}, ${month})`));
const ledger = (month: string) => db.sql<{ at: string; key: string }[]>`
  select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, encode(idempotency_key, 'hex') as key
  from public.ingest_idempotency where site_id = ${team.siteUuid} and private.billing_month(created_at) = ${month}`;
const setPlan = (limit: number, enforcement: string) =>
  db.sql`select public.set_site_plan(${team.siteId}, 'Plan', ${limit}, ${enforcement}, 'TRY', null, 0, 1000000)`;

describe("an invoice", () => {
  // Guarantee: an event is billed in the month in which it was accepted, however late its transaction ends.
  // Mutation: a watermark that ignores running transactions.
  test("waits for an admission that began before the month ended, and counts it", async () => {
    await admit(`${first}-10T10:00:00Z`, 2);
    await db.sql.begin(async (tx) => {
      await tx`select set_config('opsmantik.now', ${`${first}-28T23:59:59Z`}, true), public.admit_events(${team.siteUuid}, ${tx.json([event("a")])})`;
      await db.sql`update private.ledger_watermark set settled_until = '-infinity'`; // other tests moved it on
      for (let turn = 0; turn < 3; turn++)
        expect(await callAt(db.sql, afterFirst, (other) => other`select public.freeze_invoices(${first})`)).toMatchObject({
          state: "closed",
          frozen: 0,
          more: false,
          waiting: 1,
        });
    });
    await freezeMonth(db.sql, afterFirst, first);
    expect(await readInvoice(first)).toMatchObject({ eventCount: 3, adjustments: [] });
  });

  // Guarantee: a customer recomputes the digest of a day of any size. Mutation: pages of another size on one of the two sides.
  test.each([1000, 2000, 2300])("of a day with %i events proves itself", async (events) => {
    await admitMany(db.sql, { siteUuid: team.siteUuid, from: `${first}-10T10:00:00Z`, batches: events / 100, secondsApart: 7 });
    await admit(`${first}-11T10:00:00Z`, 5);
    await freezeMonth(db.sql, afterFirst, first);
    const found = await readInvoice(first);
    const keys = await ledger(first);
    expect(found.days.map(({ events: ofDay }) => ofDay)).toEqual([events, 5]);
    expect(verifyInvoice(found, keys)).toMatchObject({ hashMatches: true, sumMatches: true, events: "match" });
    expect(verifyInvoice(found, keys.slice(1))).toMatchObject({ events: "differ" });
  });

  test("is the same when its days were counted a page at a time", async () => {
    await admitMany(db.sql, { siteUuid: team.siteUuid, from: `${first}-10T23:50:00Z`, batches: 25, secondsApart: 60 });
    const steps: unknown[] = [];
    for (let isDone: unknown = false; isDone === false; steps.push(isDone))
      isDone = await callAt(db.sql, afterFirst, (tx) => tx`select private.count_days(${team.siteUuid}, ${afterFirst}, 1)`);
    expect(steps).toEqual([false, false, false, true]); // 1,000 of the one day, none; 1,000 of the other, its last 500
    await freezeMonth(db.sql, afterFirst, first);
    expect(verifyInvoice(await readInvoice(first), await ledger(first))).toMatchObject({ events: "match", counted: 2500 });
  });

  // Guarantee: a row that is lost is not paid for. Mutation: no trigger that notes lost rows.
  test("credits what an earlier one counted and the ledger no longer has", async () => {
    await callAt(
      db.sql,
      `${first}-01T00:00:00Z`,
      (tx) => tx`select public.set_site_plan(${team.siteId}, 'P', 1, 'soft', 'TRY', null, 0, 100000)`,
    );
    await admit(`${first}-28T10:00:00Z`, 4);
    await freezeMonth(db.sql, afterFirst, first);
    await db.sql`delete from public.ingest_idempotency where site_id = ${team.siteUuid} and idempotency_key = (
      select min(i.idempotency_key::text)::bytea from public.ingest_idempotency i where i.site_id = ${team.siteUuid})`;
    await freezeMonth(db.sql, afterSecond, second);
    expect((await readInvoice(second)).adjustments).toMatchObject([{ yearMonth: first, events: -1, cents: -100, eventCount: 3 }]);
    expect(verifyInvoice(await readInvoice(first), await ledger(first))).toMatchObject({ events: "corrected" });
  });

  test("is counted from rows that nobody can change", async () => {
    await admit(`${first}-28T10:00:00Z`, 1);
    const moved = db.sql`update public.ingest_idempotency set created_at = created_at - interval '1 day' where site_id = ${team.siteUuid}`;
    await expect(moved).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT" });
  });
});

// Guarantee: counting days again is for what is late; the gate never pays for it. Mutation: the trigger without its condition.
test("an ordinary admission notes no changed day", async () => {
  await setPlan(1, "hard");
  await db.sql`select public.admit_events(${team.siteUuid}, ${db.sql.json([event("a"), event("b")])})`; // the second finds no room
  expect(await db.sql`select from private.changed_days where site_id = ${team.siteUuid}`).toHaveLength(0);
});

test("the list of a month says how many events it still has", async () => {
  await admit("2025-01-05T00:00:00Z", 3);
  await admit("2025-01-06T00:00:00Z", 2);
  await freezeMonth(db.sql, "2025-02-03T00:00:00Z", "2025-01");
  await callAt(db.sql, "2025-04-05T12:00:00Z", (tx) => tx`select public.purge_expired_idempotency()`);
  const listed = callAs(db.sql, team.viewer, (tx) => tx`select public.list_counted_events(${team.siteId}, '2025-01')`);
  expect(await listed).toMatchObject({ total: 2, events: [{}, {}] });
});

describe("the figure of a capped site", () => {
  const month = thisMonth;
  const recount = (sql: postgres.ISql) =>
    sql`select event_count::int as used, drift::int as drift from private.recount_month(${team.siteUuid}, ${month})`.then(([row]) => row);
  const used = async () =>
    (await db.sql`select event_count::int as used from public.site_usage_monthly where site_id = ${team.siteUuid}`)[0]?.used;
  const admitNow = (sql: postgres.ISql, key: string) => sql`select public.admit_events(${team.siteUuid}, ${db.sql.json([event(key)])})`;
  beforeEach(() => setPlan(50_000, "hard").then(() => undefined));

  // Guarantee: a recount beside admissions neither frees nor takes a place. Mutation: count before the figure is locked.
  test("is right when an admission is open while it is recounted", async () => {
    await admitNow(db.sql, "a");
    const counted = await whileOpen(
      db.sql,
      (tx) => admitNow(tx, "b"),
      () => recount(db.sql),
    );
    expect(counted).toEqual({ used: 2, drift: 0 });
    expect(await used()).toBe(2);
  });

  test("is right when a recount is open while an event is admitted", async () => {
    await db.sql`update public.site_usage_monthly set event_count = 900 where site_id = ${team.siteUuid}`;
    await whileOpen(
      db.sql,
      async (tx) => expect(await recount(tx)).toEqual({ used: 0, drift: 900 }),
      () => admitNow(db.sql, "a"),
    );
    expect(await used()).toBe(1);
  });

  // Guarantee: visitors of a capped site do not wait while its events are counted. Mutation: lock the figure first.
  test("is free while days are counted", async () => {
    await admit(`${first}-10T10:00:00Z`, 3);
    await db.sql.begin(async (tx) => {
      await tx`select private.count_days(${team.siteUuid}, now())`;
      const answered = new AbortController();
      const waits = untilSomebodyWaits(db.sql, answered.signal).then(() => "waits behind a lock");
      expect(await Promise.race([admitNow(db.sql, "a").then(() => "admitted"), waits])).toBe("admitted");
      answered.abort();
      await waits;
    });
  });

  // Mutation: set a figure before all other sites of the call are counted.
  test("is free while days of another site are counted", async () => {
    const other = await createTeam(db.sql, `other${count}`, founder.owner); // after ours, so its turn is later
    const admitLate = (name: string) => admitAt(db.sql, { siteUuid: other.siteUuid, at: `${second}-10T10:00:00Z`, name });
    await admitLate("one");
    await callAt(db.sql, afterSecond, (tx) => tx`select private.count_days(${other.siteUuid}, ${afterSecond})`);
    await admitLate("two");
    await db.sql`update public.site_usage_monthly set reconciled_at = null where site_id = ${team.siteUuid}`;
    let reconciling: Promise<unknown> | undefined;
    await db.sql.begin(async (tx) => {
      await tx`select from private.counted_days where site_id = ${other.siteUuid} for update`;
      reconciling = callAt(db.sql, afterSecond, (own) => own`select public.reconcile_usage(500)`);
      await untilSomebodyWaits(db.sql);
      await admitNow(db.sql, "a");
    });
    expect(await reconciling).toMatchObject({ more: false });
    expect(await used()).toBe(1);
  });

  // Guarantee: a transaction that somebody forgot does not make visitors wait for a count of all that came since.
  test("is left for later while more than 20,000 events are not settled", async () => {
    const reconcile = async () => {
      const answer = await callAt<{ reconciled: { siteId: SiteId }[]; more: boolean; waiting: number }>(
        db.sql,
        `${second}-10T12:00:00Z`,
        (tx) => tx`select public.reconcile_usage(500)`,
      );
      return { ...answer, reconciled: answer.reconciled.filter(({ siteId }) => siteId === team.siteId) };
    };
    await db.sql`update private.ledger_watermark set settled_until = ${`${second}-01T00:00:00Z`}, noted_at = null, horizon = null`;
    await db.sql.begin(async (tx) => {
      await tx`select pg_current_xact_id()`;
      await admitMany(db.sql, { siteUuid: team.siteUuid, from: `${second}-02T00:00:00Z`, batches: 201, secondsApart: 60 });
      expect(await reconcile()).toMatchObject({ reconciled: [], waiting: 1 });
    });
    for (let more = true; more; more = (await reconcile()).more);
    const [usage] = await db.sql`select reconciled_count::int as counted from public.site_usage_monthly
      where site_id = ${team.siteUuid} and year_month = ${second}`;
    expect(usage?.counted).toBe(20_100);
  });
});
