import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { GET as foldRoute } from "#app/api/cron/oci/fold-counts/route.ts";
import { GET as reconcileRoute } from "#app/api/cron/oci/reconcile-counts/route.ts";
import { POST as undoRoute } from "#app/api/oci/queue-actions/[actionId]/undo/route.ts";
import { POST as previewRoute } from "#app/api/oci/queue-actions/preview/route.ts";
import { POST as actionsRoute, GET as logRoute } from "#app/api/oci/queue-actions/route.ts";
import { GET as chartsRoute } from "#app/api/oci/queue-charts/route.ts";
import { GET as exportRoute } from "#app/api/oci/queue-export/route.ts";
import { GET as storyRoute } from "#app/api/oci/queue-rows/[id]/route.ts";
import { GET as rowsRoute } from "#app/api/oci/queue-rows/route.ts";
import { GET as statsRoute } from "#app/api/oci/queue-stats/route.ts";
import { parseCsv } from "#lib/csv/csv.ts";
import { queueActionAnswer, queueActionLog, queueActionPreview } from "#lib/oci/queue/actions.ts";
import { queueCharts } from "#lib/oci/queue/charts.ts";
import { queueRowStory } from "#lib/oci/queue/row-story.ts";
import { queueRows } from "#lib/oci/queue/rows.ts";
import { queueStats } from "#lib/oci/queue/stats.ts";
import { claimForScript, minutesLater } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { rowsIn } from "#tests/fixtures/rows-in.ts";
import { service } from "#tests/fixtures/service.ts";
import { handOver, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";
import { stopClock } from "#tests/support/stop-clock.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let db: TestDatabase;
let gateway: TestGateway;
let env: Record<string, string>;
let team: Team;
let failed: string[];
const cookies: Record<string, string> = {};
beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  env = useAppEnv({ database: db, gateway });
  team = await createQueueTeam(db.sql, "routes");
  const other = await handOver(db.sql, await createQueueTeam(db.sql, "others", team.owner), "owner@others-routes.test");
  for (const [name, person] of Object.entries({ owner: team.owner, operator: team.operator, viewer: team.viewer, outsider: other.owner }))
    cookies[name] = await cookiesOf(gateway, person);
  failed = (await rowsIn(db.sql, team, "FAILED", 3)).map(({ id }) => id);
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});
afterEach(() => void vi.useRealTimers());

type Route = typeof rowsRoute;
interface Asking {
  who?: string | undefined;
  query?: string;
  params?: Record<string, string>;
  site?: string;
}
const get = (route: Route, { who = "viewer", query = "", params = {}, site = team.siteId }: Asking = {}) =>
  send(route, { method: "GET", path: `/api/test?siteId=${site}${query}`, params, headers: fromOurPage(cookies[who]) });
const post = (route: Route, body: object, { who = "operator", params = {} }: Asking = {}, headers: Record<string, string> = {}) =>
  send(route, {
    path: "/api/test",
    params,
    body: { siteId: team.siteId, ...body },
    headers: { ...fromOurPage(cookies[who]), ...headers },
  });

test("each reader answers a viewer in its shape", async () => {
  expect(queueStats.parse(await (await get(statsRoute)).json()).totals.FAILED).toBe(3);
  expect(queueStats.parse(await (await get(statsRoute, { query: "&scope=multi" })).json())).toMatchObject({ siteId: null, scope: "multi" });
  expect(queueRows.parse(await (await get(rowsRoute, { query: "&status=FAILED&limit=2&stuck=false" })).json()).rows).toHaveLength(2);
  expect(queueRowStory.parse(await (await get(storyRoute, { params: { id: String(failed[0]) } })).json()).row.id).toBe(failed[0]);
  expect(queueCharts.parse(await (await get(chartsRoute, { query: "&range=30d" })).json()).range).toBe("30d");
  expect(queueActionLog.parse(await (await get(logRoute)).json())).toEqual([]);
});

test("an action, its repetition under the same key, and its undo", async () => {
  const body = { action: "RETRY_SELECTED", ids: failed.slice(0, 2) };
  const key = { "idempotency-key": randomUUID() };
  const first = await post(actionsRoute, body, {}, key);
  const text = await first.text();
  const answer = queueActionAnswer.parse(JSON.parse(text));
  expect(answer).toMatchObject({ affected: 2, skipped: [] });
  const again = await post(actionsRoute, body, {}, key);
  expect([await again.text(), again.headers.get("idempotent-replayed")]).toEqual([text, "true"]);
  const undone = await post(undoRoute, {}, { params: { actionId: answer.actionId } });
  expect(queueActionAnswer.parse(await undone.json())).toMatchObject({ affected: 2 });
});

test("a preview and its commit", async () => {
  const seen = queueActionPreview.parse(await (await post(previewRoute, { action: "MARK_FAILED", filter: { status: "FAILED" } })).json());
  expect(seen).toMatchObject({ count: 0, ineligible: { ILLEGAL_MOVE: 3 } });
  const commit = { action: "MARK_FAILED", previewId: seen.previewId, digest: seen.digest };
  expect((await post(actionsRoute, commit)).status, "without a reason").toBe(400);
  expect(await (await post(actionsRoute, { ...commit, reason: "none left" })).json()).toMatchObject({
    affected: 0,
    total: 0,
    cursor: null,
  });
});

describe("the export", () => {
  // Guarantee: nobody who opens the file in a spreadsheet runs what a stranger wrote, and no letter is lost on the way.
  test("keeps formulas inert, and quotes, lines and Turkish letters whole", async () => {
    const words = '=cmd()|"/C calc"!A0\nİstanbul, "ığüşöç"';
    const [row] = await rowsIn(db.sql, team, "QUEUED", 1, 123_456);
    const id = String(row?.id);
    await claimForScript(db.sql, team, [id], minutesLater(1));
    const about = { p_site_id: team.siteUuid, p_ids: [id], p_code: "APPLY_FAILED", p_category: "VALIDATION", p_message: words };
    await service(db.sql, "fail_offline_conversions", about, minutesLater(2));
    const response = await get(exportRoute, { query: "&errorCode=APPLY_FAILED" });
    expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(response.headers.get("content-disposition")).toMatch(/^attachment; filename="queue-\d{4}-\d\d-\d\d\.csv"$/);
    const bytes = new Uint8Array(await response.arrayBuffer());
    expect([...bytes.slice(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
    const [head, line, end] = parseCsv(new TextDecoder().decode(bytes));
    expect(end).toBeUndefined();
    const cell = (name: string) => line?.[head?.indexOf(name) ?? -1];
    expect({ id: cell("id"), error: cell("last_error"), value: cell("value") }).toEqual({ id, error: `'${words}`, value: "1234.56" });
  });

  test("has what a filter by verdict and day of sending finds", async () => {
    const lines = async (query: string) => parseCsv(await (await get(exportRoute, { query: `&bom=false${query}` })).text()).length - 1;
    expect(await lines("&verdict=REJECTED")).toBe(0);
    expect(await lines("&sentFrom=2020-01-01&sentTo=2020-01-02")).toBe(0);
  });

  test("comes page by page with every row once, and without a byte order mark when told so", async () => {
    const text = await (await get(exportRoute, { query: "&bom=false" })).text();
    expect(text.startsWith('"id","order_id","status"')).toBe(true);
    const lines = parseCsv(text).slice(1);
    expect(new Set(lines.map(([id]) => id)).size).toBe(lines.length);
    expect(lines.length).toBe(4);
  });
});

// Guarantee: whoever sends a wrong action reads which field it is and what is allowed there, and not "Invalid input".
// Mutation that breaks it: take the issues of a union as they are.
test.each([
  [
    "a wrong action on ids",
    { action: "DELETE", ids: [randomUUID()] },
    "action",
    /one of "RETRY_SELECTED"\|"RESET_TO_QUEUED"\|"MARK_FAILED"/,
  ],
  ["a wrong action on a preview", { action: "DELETE", previewId: randomUUID(), digest: "0".repeat(64) }, "action", /"RETRY_SELECTED"/],
  ["neither ids nor a preview", { action: "RETRY_SELECTED" }, "ids", /array/],
  ["a field that is none", { action: "RETRY_SELECTED", ids: [randomUUID()], force: true }, "force", /[Uu]nrecognized/],
])("%s is refused by its field's name", async (_, body, field, message) => {
  const { code, errors, detail } = await (await post(actionsRoute, body)).json();
  expect([code, errors.map((error: { field: string }) => error.field)]).toEqual(["VALIDATION_FAILED", [field]]);
  expect(detail).toMatch(message);
});
test("a flag, and a body that is no object, are refused by name too", async () => {
  expect((await (await get(rowsRoute, { query: "&stuck=maybe" })).json()).detail).toMatch(/^stuck: .*"true"\|"false"/);
  const headers = { ...fromOurPage(cookies.operator), "content-type": "application/json" };
  const query = { path: `/api/test?siteId=${team.siteId}`, headers };
  expect((await (await send(actionsRoute, { ...query, body: "[]" })).json()).detail).toMatch(/^body: /);
});

test("bad requests name the field", async () => {
  for (const query of [
    "&limit=0",
    "&limit=201",
    "&status=OPEN",
    "&cursor=x",
    "&minValue=-1",
    "&sort=weight",
    "&unknown=1",
    "&verdict=NO",
    "&sentTo=today",
  ])
    expect((await get(rowsRoute, { query })).status, query).toBe(400);
  expect((await get(chartsRoute, { query: "&range=1y" })).status).toBe(400);
  expect((await send(statsRoute, { method: "GET", path: "/api/test", headers: fromOurPage(cookies.viewer) })).status).toBe(400);
  for (const body of [
    { action: "DELETE", ids: failed },
    { action: "RETRY_SELECTED" },
    { action: "RETRY_SELECTED", ids: [] },
    { action: "RETRY_SELECTED", ids: ["x"] },
    { action: "MARK_FAILED", ids: failed, errorCategory: "ODD" },
    { action: "MARK_FAILED", ids: failed, errorCode: "=cmd()" },
  ])
    expect((await post(actionsRoute, body)).status, JSON.stringify(body)).toBe(400);
});

describe.each([
  ["queue-stats", statsRoute, {}],
  ["queue-rows", rowsRoute, {}],
  ["queue-rows/:id", storyRoute, { id: randomUUID() }],
  ["queue-charts", chartsRoute, {}],
  ["queue-export", exportRoute, {}],
  ["queue-actions", logRoute, {}],
] as const)("GET %s", (_name, route, params) => {
  test("without a session is 401", async () => {
    expect((await get(route, { who: "nobody", params })).status).toBe(401);
  });
  // Guarantee: another customer's site cannot be told from one that does not exist.
  test("another's site answers exactly as an unknown one", async () => {
    const theirs = await get(route, { who: "outsider", params });
    const unknown = await get(route, { site: "f".repeat(32), params });
    expect([theirs.status, unknown.status]).toEqual([404, 404]);
    expect({ ...(await theirs.json()), requestId: "" }).toEqual({ ...(await unknown.json()), requestId: "" });
  });
});

describe.each([
  ["queue-actions", actionsRoute, { action: "RETRY_SELECTED", ids: [randomUUID()] }, {}],
  ["queue-actions/preview", previewRoute, { action: "RETRY_SELECTED", filter: {} }, {}],
  ["queue-actions/:id/undo", undoRoute, {}, { actionId: randomUUID() }],
] as const)("POST %s", (_name, route, body, params) => {
  test.each([
    ["nobody", 401],
    ["viewer", 403],
    ["outsider", 404],
  ])("by a %s is %i", async (who, status) => {
    expect((await post(route, body, { who, params })).status).toBe(status);
  });
  test("from another site's page is 403", async () => {
    const response = await post(route, body, { params }, { origin: "https://evil.test", "sec-fetch-site": "cross-site" });
    expect(response.status).toBe(403);
  });
});

test("the crons fold and check the counts, and need their secret", async () => {
  const asCron = { method: "GET", headers: { authorization: `Bearer ${env.CRON_SECRET}` } };
  const { folded } = await (await send(foldRoute, asCron)).json();
  expect(folded).toBeGreaterThan(0);
  expect(await (await send(reconcileRoute, asCron)).json()).toEqual({ rowsCounted: 4, drift: 0, more: false });
  for (const route of [foldRoute, reconcileRoute]) expect((await send(route, { method: "GET" })).status).toBe(401);
});

// Mutation: a route that forgets to say which codes a retry cannot fix.
test("a preview of a retry leaves out what it cannot fix", async () => {
  const [row] = await rowsIn(db.sql, team, "PROCESSING", 1, 778_000);
  const failure = { p_site_id: team.siteUuid, p_ids: [row?.id], p_code: "CLICK_NOT_FOUND", p_category: "VALIDATION", p_message: "words" };
  await service(db.sql, "fail_offline_conversions", failure, minutesLater(39));
  const answer = await post(previewRoute, { action: "RETRY_SELECTED", filter: { q: row?.id } });
  expect(queueActionPreview.parse(await answer.json())).toMatchObject({ count: 0, ineligible: { UNFIXABLE: 1 } });
});

// Guarantee: one person cannot keep the database busy with previews or exports; another is not held up by it.
test.each([
  ["previews", 20, (who: string) => post(previewRoute, { action: "MARK_FAILED", filter: { status: "FAILED" } }, { who })],
  ["exports", 10, (who: string) => get(exportRoute, { who, query: "&status=FAILED" })],
] as const)("%s: over %d a minute by one person are 429", async (_, most, ask) => {
  stopClock();
  const statuses: number[] = [];
  for (let index = 0; index < most + 5; index++) statuses.push((await ask("operator")).status);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  expect((await ask("owner")).status).toBe(200);
});
