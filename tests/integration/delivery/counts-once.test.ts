import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { SessionClient } from "#lib/db/session-client.ts";
import { chooseActions, connectGoogleAds } from "#lib/delivery/connect.ts";
import type { ConnectInput } from "#lib/delivery/connection-shapes.ts";
import { pollVerdicts } from "#lib/delivery/poll-verdicts.ts";
import { processOfflineConversions } from "#lib/delivery/process-offline-conversions.ts";
import { demoClient, demoCustomerId, demoRefreshToken, newAccount, newAction } from "#scripts/local/google/accounts.ts";
import { claimForScript, readRow, type Sealed, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { switchDelivery } from "#tests/fixtures/site.ts";
import { password, type Team } from "#tests/fixtures/team.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";
import { anHourAgo, type DeliveryApp, startDeliveryApp } from "#tests/support/delivery-app.ts";
import { signInAs } from "#tests/support/test-gateway.ts";

let app: DeliveryApp;
let google: Awaited<ReturnType<typeof startTestGoogle>>;
beforeAll(async () => {
  google = await startTestGoogle();
  app = await startDeliveryApp({ variables: { GOOGLE_API_BASE_URL: google.url, VERDICT_FIRST_POLL_SECONDS: "0" }, withGateway: true });
});
afterAll(async () => {
  await app.stop();
  await google.stop();
});

const actionAt = (id: string, customerId = demoCustomerId) => `customers/${customerId}/conversionActions/${id}`;
const input: ConnectInput = {
  customer_id: demoCustomerId,
  client_id: demoClient.clientId,
  client_secret: demoClient.clientSecret,
  refresh_token: demoRefreshToken,
  conversion_action_resource_name: actionAt("1005"),
};

const sealName = "OpsMantik_V5_DEMIR_MUHUR";

/** The session door as the site's owner has it. */
const asOwner = async ({ owner }: Team) => (await signInAs(app.gateway, { ...owner, password })) as SessionClient;

const deliver = () => processOfflineConversions({ limit: 500, deadlineMs: 60_000 });
/** By a clock that is behind, so that a request without a verdict is due again at once. */
const poll = () => pollVerdicts({ deadlineMs: 60_000, now: () => new Date(Date.now() - 3_600_000) });
const processingSeconds = 31 * 60;
const conversionOf = async ({ saleId }: Sealed) => {
  const [row] = await app.sql`select order_id from public.offline_conversion_queue where sale_id = ${saleId} limit 1`;
  return (await google.conversions()).filter(({ orderId }) => orderId === row?.order_id);
};

/** What the script does with rows that it was handed. */
async function uploadByScript(rows: object[]): Promise<void> {
  const time = new Date(Date.now() - 3_600_000).toISOString().replace("T", " ").slice(0, 19);
  const columns = ["Order ID", "Google Click ID", "Conversion name", "Conversion time", "Conversion value", "Conversion currency"];
  const given = rows as { orderId: string; gclid: string; conversionName: string; valueCents: number; currency: string }[];
  const lines = given.map((row) => [row.orderId, row.gclid, row.conversionName, `${time}+0000`, row.valueCents / 100, row.currency]);
  await google.admin("POST", "/script-uploads", {
    customerId: demoCustomerId,
    columns,
    rows: lines.map((line) => Object.fromEntries(columns.map((column, index) => [column, line[index]]))),
  });
}

let team: Team;
let db: SessionClient;
beforeEach(async () => {
  team = await createQueueTeam(app.sql, `site-${Math.random().toString(16).slice(2, 10)}`, app.owner, "api");
  db = await asOwner(team);
  expect(await connectGoogleAds(db, team.siteId, input)).toMatchObject({ connected: true });
});
const seal = (step = {}) => sealLead(app.sql, team, { at: anHourAgo(), step });

// Guarantee: one order id is one conversion on every way. It is so only under one action.
// Mutation that breaks it: sendable_queue without a look at what Google calls the action.
test("a row that the script uploaded without an answer, and the API then sends, counts once", async () => {
  await google.putAccount({
    conversionActions: [...newAccount(demoCustomerId).conversionActions, newAction({ id: "3005", name: "Sales by API" })],
  });
  await chooseActions(db, team.siteId, [{ conversionName: sealName, action: actionAt("3005") }]);
  await switchDelivery(app.sql, team, "script");
  const sealed = await seal();
  const { rows } = await claimForScript(app.sql, team, [sealed.id]);
  await uploadByScript(rows);
  await switchDelivery(app.sql, team, "api");
  await service(app.sql, "recover_stuck_offline_conversion_jobs", { p_min_age_minutes: 15 }, new Date(Date.now() + 20 * 60_000));
  await deliver();
  await google.advance(processingSeconds);
  await poll();
  expect(await conversionOf(sealed)).toHaveLength(1);
  expect(await readRow(app.sql, sealed.id)).toMatchObject({ status: "RETRY", conversion_action: null });
  await chooseActions(db, team.siteId, [{ conversionName: sealName, action: actionAt("1005") }]);
  await deliver();
  await google.advance(processingSeconds);
  expect(await conversionOf(sealed)).toHaveLength(1);
  expect(await readRow(app.sql, sealed.id)).toMatchObject({ status: "COMPLETED" });
});

// Guarantee: the same the other way round. The script finds the sale where the API may have put it.
// Mutation that breaks it: hand_out gives a script the row's own name whatever became of it before.
test("a row that the API delivered without an answer, and the script then sends, counts once", async () => {
  await google.putAccount({
    conversionActions: [...newAccount(demoCustomerId).conversionActions, newAction({ id: "3005", name: "Sales by API" })],
  });
  await chooseActions(db, team.siteId, [{ conversionName: sealName, action: actionAt("3005") }]);
  const sealed = await seal();
  await google.addFault({ match: { method: "ingest" }, kind: "timeout_after_accept", delayMs: 10 });
  await deliver();
  await google.admin("DELETE", "/faults");
  await switchDelivery(app.sql, team, "script");
  const { rows } = await claimForScript(app.sql, team, [sealed.id], new Date(Date.now() + 20 * 60_000));
  expect(rows).toHaveLength(1);
  await uploadByScript(rows);
  await google.advance(processingSeconds);
  expect(await conversionOf(sealed)).toMatchObject([{ key: expect.stringContaining("3005") }]);
});
