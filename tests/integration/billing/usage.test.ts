import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type BillingOverview, billingOverview, type CountedEvents, countedEvents } from "#lib/billing/billing-shapes.ts";
import type { SiteId } from "#lib/site.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { admitAt, freezeMonth } from "#tests/fixtures/counted-events.ts";
import { callAt } from "#tests/fixtures/service.ts";
import { createTeam, handOver, type Person, type Team } from "#tests/fixtures/team.ts";
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
  team = await createTeam(db.sql, `used${count}`, founder.owner);
});

const admit = (at: string, events: number, name = at) => admitAt(db.sql, { siteUuid: team.siteUuid, at, name, count: events });
interface Reconciliation {
  reconciled: { siteId: SiteId; yearMonth: string; eventCount: number; drift: number }[];
  more: boolean;
}
const reconcile = async (at: string) => {
  const answer = await callAt<Reconciliation>(db.sql, at, (tx) => tx`select public.reconcile_usage()`);
  return answer.reconciled.filter(({ siteId }) => siteId === team.siteId);
};
const overview = async (at: string, person: Person = team.viewer): Promise<BillingOverview> =>
  billingOverview.parse(await callAs(db.sql, person, (tx) => tx`select public.billing_overview(${team.siteId})`, new Date(at)));
const listEvents = async (page: { month?: string; cursor?: string | null; limit?: number } = {}): Promise<CountedEvents> =>
  countedEvents.parse(
    await callAs(
      db.sql,
      team.viewer,
      (tx) =>
        tx`select public.list_counted_events(${team.siteId}, ${page.month ?? "2026-03"}, ${page.cursor ?? null}, ${page.limit ?? 100})`,
    ),
  );

test("a wrong running figure is set to what the ledger says, and the difference is kept", async () => {
  await admit("2026-03-02T10:00:00Z", 7); // all of them still wait for the worker, which is no difference
  await db.sql`insert into public.site_usage_monthly (site_id, year_month, event_count, updated_at) values (${team.siteUuid}, '2026-03', 3, now())`;
  expect(await reconcile("2026-03-02T12:00:00Z")).toEqual([{ siteId: team.siteId, yearMonth: "2026-03", eventCount: 7, drift: 3 }]);
  expect(await overview("2026-03-02T12:01:00Z")).toMatchObject({ used: 7, drift: 3, reconciledAt: "2026-03-02T12:00:00Z" });
  expect(await reconcile("2026-03-02T12:04:59Z"), "counted less than five minutes ago").toEqual([]);
  expect(await reconcile("2026-03-02T12:05:00Z")).toMatchObject([{ drift: 0 }]);
});

test("this month and an unfrozen last month are reconciled, a frozen one is left alone", async () => {
  await admit("2026-03-31T10:00:00Z", 2);
  await admit("2026-04-01T10:00:00Z", 3);
  const months = async (at: string) => (await reconcile(at)).map(({ yearMonth, eventCount }) => [yearMonth, eventCount]).sort();
  expect(await months("2026-04-01T12:00:00Z")).toEqual([
    ["2026-03", 2],
    ["2026-04", 3],
  ]);
  await freezeMonth(db.sql, "2026-04-03T00:00:00Z", "2026-03");
  expect(await months("2026-04-04T12:00:00Z")).toEqual([["2026-04", 3]]);
});

// Guarantee: two crons at once do not make a capped site's visitors wait for each other's count.
test("a site that another cron is counting is passed over", async () => {
  await admit("2026-03-02T10:00:00Z", 1);
  await db.sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', '2026-03-02T12:00:00Z', true)`;
    await tx`select public.reconcile_usage()`;
    expect(await reconcile("2026-03-02T12:00:00Z")).toEqual([]);
  });
});

test("the overview counts the ledger by UTC day, without any reconciliation", async () => {
  await callAt(
    db.sql,
    "2026-02-01T00:00:00Z",
    (tx) => tx`select public.set_site_plan(${team.siteId}, 'Standard', 60000, 'soft', 'TRY', 1.5, 149000, 3000)`,
  );
  await admit("2026-02-20T10:00:00Z", 5);
  await admit("2026-03-01T00:00:00Z", 2);
  await admit("2026-03-01T22:30:00Z", 1); // already the 2nd in Istanbul
  await admit("2026-03-02T10:00:00Z", 4);
  await admit("2026-03-02T10:00:00Z", 4);
  await callAt(db.sql, "2026-03-02T11:00:00Z", (tx) => tx`select public.count_drops(${team.siteUuid}, 'bot', 6)`);
  await callAt(db.sql, "2026-02-28T11:00:00Z", (tx) => tx`select public.count_drops(${team.siteUuid}, 'bot', 100)`);
  await db.sql`select public.fold_drops()`;
  await callAt(db.sql, "2026-03-02T11:30:00Z", (tx) => tx`select public.count_drops(${team.siteUuid}, 'bot', 2)`);
  expect(await overview("2026-03-02T12:00:00Z")).toEqual({
    credits: [],
    unusualDays: [],
    now: "2026-03-02T12:00:00Z",
    yearMonth: "2026-03",
    currency: "TRY",
    plan: {
      name: "Standard",
      monthlyLimit: 60_000,
      enforcement: "soft",
      capEvents: 90_000,
      leadSharePercent: 10,
      openEvents: 81_000,
      signedEvents: 0,
      basePriceCents: 149_000,
      overageCentsPer1000: 3000,
    },
    used: 7,
    days: [
      { day: "2026-03-01", events: 3 },
      { day: "2026-03-02", events: 4 },
    ],
    daysBefore: [{ day: "2026-02-20", events: 5 }],
    drops: { duplicate: 4, bot: 8 },
    reconciledAt: null,
    drift: null,
  });
});

test("counted events come page by page, each once, in order, though a batch shares its moment", async () => {
  await admit("2026-03-02T10:00:00.123456Z", 130);
  await admit("2026-03-05T10:00:00Z", 3);
  await admit("2026-04-01T00:00:00Z", 1);
  const seen: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const page: CountedEvents = await listEvents({ cursor, limit: 40 });
    expect(page.total).toBe(cursor === null ? 133 : null);
    seen.push(...page.events.map(({ at, key }) => `${at}_${key}`));
    cursor = page.next;
    pages += 1;
  } while (cursor);
  expect(pages).toBe(4);
  expect(new Set(seen).size).toBe(133);
  expect(seen).toEqual(seen.toSorted());
  expect((await listEvents({ limit: 9999 })).events.length).toBe(133);
});

test.each(["x", "2026-03-01T00:00:00Z", `2026-99-99T00:00:00.000000Z_${"0".repeat(64)}`, `2026-03-01T00:00:00.000000Z_${"g".repeat(64)}`])(
  "a made-up cursor %s is refused",
  async (cursor) => {
    const refusal = await listEvents({ cursor }).catch((error: { code: string }) => error.code);
    expect(refusal).toMatch(/^(PT400|22)/);
  },
);

// Guarantee: what a customer pays is nobody else's business, and nobody can find out whether a site exists.
test("every member may read; others are told the same as for a site that does not exist; sites.id stays inside", async () => {
  await admit("2026-03-02T10:00:00Z", 2);
  await freezeMonth(db.sql, "2026-04-03T00:00:00Z", "2026-03");
  const other = await handOver(db.sql, await createTeam(db.sql, `others${count}`, founder.owner), `outsider${count}@elsewhere.test`);
  const readers = ["billing_overview($1)", "list_invoices($1)", "get_invoice($1, '2026-03')", "list_counted_events($1, '2026-03')"];
  const call = (person: Person, reader: string, siteId: SiteId) =>
    callAs(db.sql, person, (tx) => tx.unsafe(`select public.${reader}`, [siteId]));
  for (const reader of readers) {
    for (const person of [team.owner, team.operator, team.viewer]) {
      const answer = JSON.stringify(await call(person, reader, team.siteId));
      expect(answer).not.toContain(team.siteUuid);
    }
    const refusals = await Promise.all(
      [call(other.owner, reader, team.siteId), call(team.owner, reader, "f".repeat(32) as SiteId)].map((tried) =>
        tried.catch(({ code, message, detail }) => ({ code, message, detail })),
      ),
    );
    expect(refusals[0]).toMatchObject({ code: "PT404", message: "NOT_FOUND" });
    expect(refusals[0]).toEqual(refusals[1]);
  }
});
