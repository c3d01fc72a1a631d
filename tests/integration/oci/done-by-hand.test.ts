import { afterAll, beforeAll, expect, test } from "vitest";
import { POST as doneRoute } from "#app/api/oci/queue-rows/[id]/done-by-hand/route.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForScript, minutesLater, readRow, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { handOver, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let db: TestDatabase;
let gateway: TestGateway;
let team: Team;
let restateId: string;
const cookies: Record<string, string> = {};
beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  useAppEnv({ database: db, gateway });
  team = await createQueueTeam(db.sql, "by-hand");
  const other = await handOver(db.sql, await createQueueTeam(db.sql, "others", team.owner), "owner@others-by-hand.test");
  for (const [name, person] of Object.entries({ operator: team.operator, viewer: team.viewer, outsider: other.owner }))
    cookies[name] = await cookiesOf(gateway, person);
  const at = minutesLater(-60, new Date()); // the route goes by the real clock, and 54 days later Google takes no correction
  const sold = await sealLead(db.sql, team, { amountCents: 425_000, at });
  await claimForScript(db.sql, team, [sold.id], minutesLater(1, at));
  await service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: [sold.id] }, minutesLater(2, at));
  await change(db.sql, { team }, "correct_sale", { id: sold.saleId, amountCents: 199_000 }, { at: minutesLater(3, at) });
  const [row] = await db.sql`select id from public.offline_conversion_queue where sale_id = ${sold.saleId} and kind = 'RESTATE'`;
  restateId = String(row?.id);
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

const done = (body: object, who = "operator", id = restateId) =>
  send(doneRoute, {
    path: `/api/oci/queue-rows/${id}/done-by-hand`,
    params: { id },
    body: { siteId: team.siteId, ...body },
    headers: fromOurPage(cookies[who]),
  });

test("who may not act, or names no value, changes nothing", async () => {
  expect((await done({ valueCents: 199_000 }, "nobody")).status).toBe(401);
  expect((await done({ valueCents: 199_000 }, "viewer")).status).toBe(403);
  expect((await done({ valueCents: 199_000 }, "outsider")).status).toBe(404);
  expect((await done({})).status).toBe(400);
  expect((await done({ valueCents: 199_000 }, "operator", crypto.randomUUID())).status).toBe(404);
  expect((await readRow(db.sql, restateId)).status).toBe("QUEUED");
});

// Guarantee: what a person entered at Google is what our ledger says; if the sale changed meanwhile, they are told.
test("another value than the row's is a conflict; the right one completes it, also when said twice", async () => {
  expect((await done({ valueCents: 425_000 })).status).toBe(409);
  expect((await done({ valueCents: 199_000 })).status).toBe(200);
  expect((await done({ valueCents: 199_000 })).status).toBe(200);
  expect(await readRow(db.sql, restateId)).toMatchObject({ status: "COMPLETED", value_cents: "199000" });
});
