import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { POST as previewRoute } from "#app/api/oci/queue-actions/preview/route.ts";
import { GET as storyRoute } from "#app/api/oci/queue-rows/[id]/route.ts";
import { GET as rowsRoute } from "#app/api/oci/queue-rows/route.ts";
import { readPage } from "#lib/auth/session.ts";
import { readControlPage } from "#lib/oci/queue/page.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { rowsIn } from "#tests/fixtures/rows-in.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

// Next gives these to a page while it renders; here they are the request of a signed-in operator.
const asked = vi.hoisted(() => ({ cookie: "" }));
vi.mock("server-only", () => ({}));
vi.mock("next/headers", () => ({
  headers: async () => new Headers(),
  cookies: async () => ({
    getAll: () =>
      asked.cookie.split("; ").map((pair) => ({ name: pair.slice(0, pair.indexOf("=")), value: pair.slice(pair.indexOf("=") + 1) })),
  }),
}));

let db: TestDatabase;
let gateway: TestGateway;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  useAppEnv({ database: db, gateway });
  process.env.OCI_MAX_ATTEMPTS = "7";
  team = await createQueueTeam(db.sql, "paint");
  asked.cookie = await cookiesOf(gateway, team.operator);
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

// Guarantee: nobody reads "1 of 5 tries", and a moment later "1 of 7", or decides by a sample that counts differently.
// Mutation that breaks it: read a page or a preview without the deployment's OCI_MAX_ATTEMPTS.
test("the first paint, the live answer and a preview's sample count tries against the same limit", async () => {
  const [row] = await rowsIn(db.sql, team, "FAILED");
  const id = String(row?.id);
  const headers = fromOurPage(asked.cookie);
  const get = async (route: typeof rowsRoute, params = {}) =>
    (await send(route, { method: "GET", path: `/api/test?siteId=${team.siteId}`, params, headers })).json();
  const view = { tab: "queue", filter: {}, sort: "created", range: "7d", span: { last: "30" }, row: id } as const;
  const site = { siteId: team.siteId, timezone: "Europe/Istanbul", ociSyncMethod: "script" } as const;
  const { queue } = await readPage(readControlPage, site, view, new Date());
  if (!queue) throw new Error("The queue's tab shows the queue.");
  const { page, story } = queue;
  expect(page.rows[0]).toMatchObject({ id, attemptCount: 1, attemptsLeft: 6 });
  expect(page).toEqual(await get(rowsRoute));
  expect(story).toEqual(await get(storyRoute, { id }));
  const body = { siteId: team.siteId, action: "RETRY_SELECTED", filter: {} };
  expect((await (await send(previewRoute, { path: "/api/test", body, headers })).json()).sample).toEqual(page.rows);
});
