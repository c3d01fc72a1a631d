import { afterAll, beforeAll, expect, test } from "vitest";
import { PATCH as leadShareRoute } from "#app/api/sites/[siteId]/billing/lead-share/route.ts";
import { billingOverview } from "#lib/billing/billing-shapes.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { makeCallSecret } from "#tests/fixtures/site.ts";
import { createTeam, handOver, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let db: TestDatabase;
let gateway: TestGateway;
let team: Team;
const cookies: Record<string, string> = {};

beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  useAppEnv({ database: db, gateway });
  team = await createTeam(db.sql, "ours");
  const other = await handOver(db.sql, await createTeam(db.sql, "theirs", team.owner), "owner@elsewhere.test");
  const people = { owner: team.owner, operator: team.operator, viewer: team.viewer, outsider: other.owner };
  for (const [name, person] of Object.entries(people)) cookies[name] = await cookiesOf(gateway, person);
  await db.sql`select public.set_site_plan(${team.siteId}, 'Hard', 1005, 'hard', 'TRY')`;
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

const save = (leadSharePercent: unknown, who = "owner") =>
  send(leadShareRoute, {
    method: "PATCH",
    params: { siteId: team.siteId },
    body: { leadSharePercent },
    headers: { ...fromOurPage(cookies[who]), "content-type": "application/json" },
  });
const plan = async () => {
  const answer = await callAs(db.sql, team.viewer, (tx) => tx`select public.billing_overview(${team.siteId})`);
  return billingOverview.parse(answer).plan;
};

test("a tenth is kept until an owner says otherwise, and every member sees how much that is", async () => {
  expect(await plan()).toMatchObject({ leadSharePercent: 10, capEvents: 1005, openEvents: 905, signedEvents: 0 });
  expect((await save(25)).status).toBe(200);
  expect(await plan()).toMatchObject({ leadSharePercent: 25, capEvents: 1005, openEvents: 754, signedEvents: 0 });
  await makeCallSecret(db.sql, team);
  expect(await plan()).toMatchObject({ openEvents: 754, signedEvents: 125 });
});

// Guarantee: the share is no part of the price. Mutation: keep every update of site_plans in plan_changes.
test("a changed share is no change of the plan that a month is billed by", async () => {
  const [before] = await db.sql`select count(*)::int as changes from private.plan_changes where site_id = ${team.siteUuid}`;
  await save(30);
  const [after] = await db.sql`select count(*)::int as changes from private.plan_changes where site_id = ${team.siteUuid}`;
  expect(after).toEqual(before);
});

test.each([-1, 101, 10.5, "ten", null])("%s is refused, and the field is named", async (percent) => {
  const before = await plan();
  const response = await save(percent);
  expect(response.status).toBe(400);
  expect((await response.json()).errors).toMatchObject([{ field: "leadSharePercent" }]);
  expect(await plan()).toEqual(before);
});

test.each([
  ["nobody", 401],
  ["outsider", 404],
  ["viewer", 403],
  ["operator", 403],
])("%s is refused with %i", async (who, status) => {
  const before = await plan();
  expect((await save(0, who)).status).toBe(status);
  expect(await plan()).toEqual(before);
});
