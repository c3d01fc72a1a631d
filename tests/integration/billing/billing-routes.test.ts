import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GET as freezeRoute } from "#app/api/cron/billing/freeze-invoices/route.ts";
import { GET as cleanupRoute } from "#app/api/cron/billing/idempotency-cleanup/route.ts";
import { GET as reconcileRoute } from "#app/api/cron/billing/reconcile-usage/route.ts";
import { GET as countedEventsRoute } from "#app/api/sites/[siteId]/billing/counted-events/route.ts";
import { GET as invoiceRoute } from "#app/api/sites/[siteId]/billing/invoices/[yearMonth]/route.ts";
import { invoice } from "#lib/billing/billing-shapes.ts";
import { readEventsCsv, verifyInvoice } from "#lib/billing/verify-invoice.ts";
import { shiftMonth } from "#lib/billing/year-month.ts";
import { parseCsv } from "#lib/csv/csv.ts";
import { redis } from "#lib/platform/redis.ts";
import { admitAt } from "#tests/fixtures/counted-events.ts";
import { createTeam, handOver, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let db: TestDatabase;
let gateway: TestGateway;
let env: Record<string, string>;
let team: Team;
let other: Team;
const cookies: Record<string, string> = {};

// Two months ago is closed on every day of the year, and its rows are not expired.
const closedMonth = shiftMonth(new Date().toISOString().slice(0, 7), -2);
const thisMonth = new Date().toISOString().slice(0, 7);
const formula = '=HYPERLINK("http://evil.test";"click")/x';

beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  env = useAppEnv({ database: db, gateway });
  team = await createTeam(db.sql, "ours");
  other = await handOver(db.sql, await createTeam(db.sql, "theirs", team.owner), "owner@elsewhere.test");
  for (const [name, person] of Object.entries({ viewer: team.viewer, outsider: other.owner }))
    cookies[name] = await cookiesOf(gateway, person);
  await admitAt(db.sql, { siteUuid: team.siteUuid, at: `${closedMonth}-03T10:00:00.5Z`, name: "closed", count: 1203 });
  await admitAt(db.sql, { siteUuid: team.siteUuid, at: `${closedMonth}-04T10:00:00Z`, name: "formula", eventName: formula });
  await admitAt(db.sql, { siteUuid: team.siteUuid, at: new Date().toISOString(), name: "now", count: 5 });
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

const asCron = () => ({ method: "GET", headers: { authorization: `Bearer ${env.CRON_SECRET}` } });
const read = (route: typeof invoiceRoute, query: string, params: Record<string, string> = {}, who: string | undefined = "viewer") =>
  send(route, {
    method: "GET",
    path: `/api/test${query}`,
    params: { siteId: team.siteId, ...params },
    headers: fromOurPage(cookies[who]),
  });

// Guarantee: Redis is told what Postgres counted. What somebody writes into Redis is never believed.
test("reconciliation overwrites a forged Redis key, and a forged key bills nobody", async () => {
  const key = `usage:${team.siteId}:${thisMonth}`;
  await redis().set(key, 999_999);
  await redis().set(`usage:${team.siteId}:${closedMonth}`, 999_999);
  expect(await (await send(reconcileRoute, asCron())).json()).toMatchObject({ reconciled: 1 });
  expect(Number(await redis().get(key))).toBe(5);
  expect(await (await send(freezeRoute, asCron())).json()).toEqual({ frozen: 1 });
  const found = await (await read(invoiceRoute, "", { yearMonth: closedMonth })).json();
  expect(found).toMatchObject({ eventCount: 1204, totalCents: 0 });
  expect(await (await send(freezeRoute, asCron())).json()).toEqual({ frozen: 0 });
  expect(await (await send(cleanupRoute, asCron())).json()).toEqual({ purged: 0 });
});

test.each([
  ["reconcile-usage", reconcileRoute],
  ["freeze-invoices", freezeRoute],
  ["idempotency-cleanup", cleanupRoute],
])("the cron %s needs its secret", async (_name, route) => {
  expect((await send(route, { method: "GET", headers: { authorization: "Bearer wrong" } })).status).toBe(401);
});

test("a page of counted events is JSON and leads to the next", async () => {
  const first = await (await read(countedEventsRoute, `?month=${closedMonth}&limit=3`)).json();
  expect(first).toMatchObject({ yearMonth: closedMonth, total: 1204 });
  const second = await (await read(countedEventsRoute, `?month=${closedMonth}&limit=3&cursor=${encodeURIComponent(first.next)}`)).json();
  expect(second.events).toHaveLength(3);
  expect(second.events).not.toContainEqual(first.events[0]);
});

test("a whole month comes as one CSV, and together with the invoice it proves itself", async () => {
  const response = await read(countedEventsRoute, `?month=${closedMonth}&format=csv`);
  expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(response.headers.get("content-disposition")).toBe(`attachment; filename="events-${closedMonth}.csv"`);
  const text = await response.text();
  const events = readEventsCsv(text);
  expect(events).toHaveLength(1204);
  const proof = invoice.parse(await (await read(invoiceRoute, "", { yearMonth: closedMonth })).json());
  expect(verifyInvoice(proof, events)).toMatchObject({ hashMatches: true, sumMatches: true, events: "match" });
  expect(() => readEventsCsv(text.slice(0, -20)), "a torn file").toThrow(/Line 1205/);
});

// Guarantee: opening the file in a spreadsheet runs nothing that a stranger's browser sent.
test("an event name that is a formula is inert in the CSV", async () => {
  const rows = parseCsv(await (await read(countedEventsRoute, `?month=${closedMonth}&format=csv`)).text());
  expect(rows.at(-1)?.[1]).toBe(`'${formula}`);
});

test("an invoice comes as CSV, line by line", async () => {
  const response = await read(invoiceRoute, "?format=csv", { yearMonth: closedMonth });
  const rows = parseCsv(await response.text());
  expect(rows.map((row) => row.slice(0, 2))).toEqual([
    ["month", "line"],
    [closedMonth, "plan"],
    [closedMonth, "overage"],
    [closedMonth, "total"],
  ]);
});

test("a bad month, cursor or format is 400, a month without an invoice 404", async () => {
  for (const query of ["?month=2026-13", "?limit=501", "?format=xml", "?cursor=nonsense"]) {
    expect((await read(countedEventsRoute, query)).status, query).toBe(400);
  }
  expect((await read(invoiceRoute, "", { yearMonth: "x" })).status).toBe(400);
  expect((await read(invoiceRoute, "", { yearMonth: "2020-01" })).status).toBe(404);
});

describe.each([
  ["counted-events", countedEventsRoute, ""],
  ["counted-events as CSV", countedEventsRoute, "?format=csv"],
  ["invoice", invoiceRoute, ""],
])("%s", (_name, route, query) => {
  const params = { yearMonth: closedMonth };

  test("without a session is 401", async () => {
    const response = await send(route, { method: "GET", path: `/api/test${query}`, params: { siteId: team.siteId, ...params } });
    expect(response.status).toBe(401);
  });

  // Guarantee: another customer's site cannot be told from one that does not exist.
  test("another's site answers exactly as an unknown one", async () => {
    const theirs = await read(route, query, params, "outsider");
    const unknown = await read(route, query, { siteId: "f".repeat(32), ...params });
    expect([theirs.status, unknown.status]).toEqual([404, 404]);
    expect({ ...(await theirs.json()), requestId: "" }).toEqual({ ...(await unknown.json()), requestId: "" });
  });
});
