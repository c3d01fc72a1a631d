import { afterAll, beforeAll, expect, test } from "vitest";
import { GET as cleanupRoute } from "#app/api/cron/billing/idempotency-cleanup/route.ts";
import { GET as originsRoute } from "#app/api/sites/[siteId]/billing/origins/route.ts";
import { billingOverview, usageOrigins } from "#lib/billing/billing-shapes.ts";
import { parseCsv } from "#lib/csv/csv.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { admitAt } from "#tests/fixtures/counted-events.ts";
import { callAt } from "#tests/fixtures/service.ts";
import { createTeam, handOver, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

const today = () => new Date().toISOString().slice(0, 10);

let db: TestDatabase;
let gateway: TestGateway;
let env: Record<string, string>;
let team: Team;
const cookies: Record<string, string> = {};
beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  env = useAppEnv({ database: db, gateway });
  team = await createTeam(db.sql, "ours");
  const other = await handOver(db.sql, await createTeam(db.sql, "theirs", team.owner), "owner@elsewhere.test");
  const people = { operator: team.operator, viewer: team.viewer, outsider: other.owner };
  for (const [name, person] of Object.entries(people)) cookies[name] = await cookiesOf(gateway, person);
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

/** Ten days of events from the 1st of March on, each with its number. */
const admitDays = async (site: Team, counts: number[]) => {
  for (const [index, count] of counts.entries()) {
    const at = `2026-03-${String(index + 1).padStart(2, "0")}T10:00:00Z`;
    if (count > 0) await admitAt(db.sql, { siteUuid: site.siteUuid, at, name: at, count });
  }
};
const judged = async (site: Team, at: string, day: string | null = null) =>
  usageOrigins.parse(
    await callAs(db.sql, site.operator, (tx) => tx`select public.list_usage_origins(${site.siteId}, ${day})`, new Date(at)),
  );

// Guarantee: a site is measured by its own days. Mutation: >= instead of >, or the mean instead of the median.
test.each([
  ["three times the usual is not", [50, 50, 50, 50, 50, 50, 50], 150, false],
  ["one more is", [50, 50, 50, 50, 50, 50, 50], 151, true],
  ["99 more than a quiet site's usual is not", [1, 1, 1, 1, 1, 1, 1], 100, false],
  ["100 more is", [1, 1, 1, 1, 1, 1, 1], 101, true],
  ["an earlier flood does not hide the next one", [50, 900, 50, 50, 50, 50, 50], 160, true],
  ["with fewer than seven days before it nothing is", [0, 5, 5, 5, 5, 5, 5], 500, false],
  ["quiet days in between count as quiet", [50, 0, 0, 0, 0, 50, 50], 120, true],
])("%s", async (name, before, units, isUnusual) => {
  const site = await createTeam(db.sql, `days-${name.length}-${units}`, team.owner);
  await admitDays(site, [...before, units]);
  const found = await judged(site, "2026-03-09T08:00:00Z", "2026-03-08");
  expect(found).toMatchObject({ day: "2026-03-08", units, isUnusual });
  const page = await callAs(
    db.sql,
    site.viewer,
    (tx) => tx`select public.billing_overview(${site.siteId})`,
    new Date("2026-03-09T08:00:00Z"),
  );
  expect(billingOverview.parse(page).unusualDays.some(({ day }) => day === "2026-03-08")).toBe(isUnusual);
});

test("without a day the newest unusual one is meant, else today; a day beyond 90 or to come is refused", async () => {
  const site = await createTeam(db.sql, "newest", team.owner);
  await admitDays(site, [5, 5, 5, 5, 5, 5, 5, 300, 5]);
  expect(await judged(site, "2026-03-12T08:00:00Z")).toMatchObject({ day: "2026-03-08", units: 300, usual: 5, waiting: 300 });
  expect(await judged(site, "2026-05-12T08:00:00Z")).toMatchObject({ day: "2026-05-12", units: 0 });
  await expect(judged(site, "2026-03-12T08:00:00Z", "2026-03-13")).rejects.toMatchObject({ code: "PT400" });
  await expect(judged(site, "2026-06-05T08:00:00Z", "2026-03-08")).resolves.toMatchObject({ units: 300 });
  await expect(judged(site, "2026-06-06T08:00:00Z", "2026-03-08")).rejects.toMatchObject({ code: "PT400" });
});

test("counts are kept for 90 days, and the cron forgets them", async () => {
  await db.sql`insert into private.usage_origins (site_id, day, network, browser, units)
    select ${team.siteUuid}, current_date - n, '203.0.113.0/24', 'chrome', 1 from unnest(array[1, 89, 91, 200]) n`;
  const response = await send(cleanupRoute, { method: "GET", headers: { authorization: `Bearer ${env.CRON_SECRET}` } });
  expect(response.status).toBe(200);
  const left = await db.sql`select from private.usage_origins where site_id = ${team.siteUuid}`;
  expect(left).toHaveLength(2);
  expect(await callAt(db.sql, undefined, (tx) => tx`select public.purge_usage_origins()`)).toEqual({ purged: 0 });
});

const ask = (query: string, who?: string) =>
  send(originsRoute, {
    method: "GET",
    path: `/api/test${query}`,
    params: { siteId: team.siteId },
    headers: fromOurPage(who && cookies[who]),
  });

test("a day comes as JSON, and as a CSV whose lines add up to its units", async () => {
  await admitAt(db.sql, { siteUuid: team.siteUuid, at: new Date().toISOString(), name: "now", count: 5 });
  await db.sql`insert into private.usage_origins (site_id, day, network, browser, units) values (${team.siteUuid}, ${today()}, '203.0.113.0/24', 'other', 3)`;
  expect(await (await ask(`?day=${today()}`, "operator")).json()).toMatchObject({ day: today(), units: 5, waiting: 2 });
  const response = await ask(`?day=${today()}&format=csv`, "operator");
  expect(response.headers.get("content-disposition")).toBe(`attachment; filename="origins-${today()}.csv"`);
  expect(parseCsv(await response.text())).toEqual([
    ["day_utc", "address_range", "browser", "units"],
    [today(), "203.0.113.0/24", "other", "3"],
    [today(), "not stored yet", "", "2"],
  ]);
});

test.each([
  ["?day=2026-02-30", "operator", 400],
  ["?day=2020-01-01", "operator", 400],
  ["?format=xml", "operator", 400],
  ["", undefined, 401],
  ["", "viewer", 403],
  ["", "outsider", 404],
])("%s asked by %s is %i", async (query, who, status) => {
  expect((await ask(query, who)).status).toBe(status);
});
