import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { GET as daysRoute } from "#app/api/oci/delivery-days/route.ts";
import { GET as exportRoute } from "#app/api/oci/delivery-export/route.ts";
import { POST as sendAgainRoute } from "#app/api/oci/queue-rows/[id]/send-again/route.ts";
import { GET as whyRoute } from "#app/api/sites/[siteId]/sales/[saleId]/why-not-counted/route.ts";
import { parseCsv } from "#lib/csv/csv.ts";
import { deliveryDays } from "#lib/oci/queue/days.ts";
import { whyNotCounted } from "#lib/oci/queue/why-not-counted.ts";
import type { Sealed } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { handOver, type Team } from "#tests/fixtures/team.ts";
import { takenByGoogle } from "#tests/support/api-scene.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let db: TestDatabase;
let gateway: TestGateway;
let team: Team;
let rejected: Sealed;
let confirmed: Sealed;
const cookies: Record<string, string> = {};
beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  useAppEnv({ database: db, gateway });
  team = await createApiTeam(db.sql, "report-routes");
  const other = await handOver(db.sql, await createApiTeam(db.sql, "other-reports", team.owner), "owner@other-reports.test");
  for (const [name, person] of Object.entries({ operator: team.operator, viewer: team.viewer, outsider: other.owner }))
    cookies[name] = await cookiesOf(gateway, person);
  confirmed = await takenByGoogle(db.sql, team, 200, "CONFIRMED");
  rejected = await takenByGoogle(db.sql, team, 100, { rejected: "CLICK_NOT_FOUND" });
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

type Route = typeof daysRoute;
const get = (route: Route, who: string | undefined, query = "", params: Record<string, string> = {}) =>
  send(route, { method: "GET", path: `/api/test?siteId=${team.siteId}${query}`, params, headers: fromOurPage(who && cookies[who]) });
const why = (who: string | undefined, saleId: string) => get(whyRoute, who, "", { siteId: team.siteId, saleId });
const again = (who: string | undefined, id: string, body: object = { siteId: team.siteId }) =>
  send(sendAgainRoute, { path: "/api/test", params: { id }, body, headers: fromOurPage(who && cookies[who]) });

test("a viewer reads why a sale is not counted, and the days", async () => {
  expect(whyNotCounted.parse(await (await why("viewer", rejected.saleId)).json())).toMatchObject({
    link: "REJECTED",
    code: "CLICK_NOT_FOUND",
  });
  expect(whyNotCounted.parse(await (await why("viewer", confirmed.saleId)).json()).link).toBe("COUNTED");
  const { days } = deliveryDays.parse(await (await get(daysRoute, "viewer")).json());
  expect(days.reduce((sum, line) => sum + line.sent.data_manager, 0)).toBe(2);
});

test("the days as CSV have the same figures, a byte order mark and a name", async () => {
  const response = await get(exportRoute, "viewer");
  expect(response.headers.get("content-disposition")).toMatch(/^attachment; filename="delivery-[\d-]+\.csv"$/);
  const bytes = new Uint8Array(await response.arrayBuffer());
  expect([...bytes.slice(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
  const [head = [], ...lines] = parseCsv(new TextDecoder().decode(bytes));
  const sumOf = (name: string) => lines.reduce((sum, line) => sum + Number(line[head.indexOf(name)]), 0);
  expect([sumOf("sent_data_manager"), sumOf("confirmed"), sumOf("rejected"), sumOf("sent_value")]).toEqual([2, 1, 1, 8_500]);
});

test.each([
  ["a day that is none", "&from=2026-02-30"],
  ["a span that is too long", "&from=2026-01-01&to=2026-12-31"],
  ["a filter that there is not", "&day=2026-01-01"],
])("%s is 400", async (_name, query) => {
  expect((await get(daysRoute, "viewer", query)).status).toBe(400);
  expect((await get(exportRoute, "viewer", query)).status).toBe(400);
});

// Guarantee: nobody reads or changes another customer's business, and a viewer changes nothing.
test("nobody is 401, a stranger 404, a viewer may not send again", async () => {
  for (const who of [undefined, "outsider"]) {
    const status = who ? 404 : 401;
    expect((await why(who, rejected.saleId)).status).toBe(status);
    expect((await get(daysRoute, who)).status).toBe(status);
    expect((await get(exportRoute, who)).status).toBe(status);
    expect((await again(who, rejected.id)).status).toBe(status);
  }
  expect((await again("viewer", rejected.id)).status).toBe(403);
  expect((await why("viewer", randomUUID())).status).toBe(404);
});

test("what Google rejected is sent again once; what it confirmed is not", async () => {
  expect((await again("operator", rejected.id, { siteId: team.siteId, force: true })).status, "a field too many").toBe(400);
  expect((await again("operator", randomUUID())).status).toBe(404);
  expect((await again("operator", confirmed.id)).status).toBe(409);
  const first = await (await again("operator", rejected.id)).json();
  expect(await (await again("operator", rejected.id)).json()).toEqual(first);
  expect(first).toEqual({ ok: true, rowId: expect.any(String) });
});
