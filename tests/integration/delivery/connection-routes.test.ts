import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { POST as available } from "#app/api/sites/[siteId]/google-ads/actions/available/route.ts";
import { POST as actions } from "#app/api/sites/[siteId]/google-ads/actions/route.ts";
import { POST as connect } from "#app/api/sites/[siteId]/google-ads/connect/route.ts";
import { POST as disconnect } from "#app/api/sites/[siteId]/google-ads/disconnect/route.ts";
import { POST as dryRun } from "#app/api/sites/[siteId]/google-ads/dry-run/route.ts";
import { POST as rotate } from "#app/api/sites/[siteId]/google-ads/rotate/route.ts";
import { GET as connection } from "#app/api/sites/[siteId]/google-ads/route.ts";
import { POST as switchDelivery } from "#app/api/sites/[siteId]/google-ads/switch/route.ts";
import { POST as testConnection } from "#app/api/sites/[siteId]/google-ads/test/route.ts";
import { actionList, connectAnswer, connectionState, dryRunAnswer } from "#lib/delivery/connection-shapes.ts";
import { demoClient, demoCustomerId, demoRefreshToken } from "#scripts/local/google/accounts.ts";
import { sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { handOver, type Team } from "#tests/fixtures/team.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";
import { anHourAgo, type DeliveryApp, startDeliveryApp } from "#tests/support/delivery-app.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";

let app: DeliveryApp;
let google: Awaited<ReturnType<typeof startTestGoogle>>;
let team: Team;
let other: Team;
const cookies: Record<string, string> = {};
beforeAll(async () => {
  google = await startTestGoogle();
  app = await startDeliveryApp({
    withGateway: true,
    variables: {
      GOOGLE_API_BASE_URL: google.url,
      GOOGLE_OAUTH_CLIENT_ID: demoClient.clientId,
      GOOGLE_OAUTH_CLIENT_SECRET: demoClient.clientSecret,
      APP_URL: "http://localhost:3000", // the only host to which the simulator sends anybody back
    },
  });
  team = await createQueueTeam(app.sql, "ours", app.owner, "script");
  other = await handOver(app.sql, await createQueueTeam(app.sql, "theirs", app.owner, "script"), "owner@elsewhere.test");
  for (const [name, person] of Object.entries({ owner: team.owner, operator: team.operator, viewer: team.viewer, outsider: other.owner })) {
    cookies[name] = await cookiesOf(app.gateway, person);
  }
});
afterAll(async () => {
  await app.stop();
  await google.stop();
});

const account = { customer_id: "123-456-7890", conversion_action_resource_name: `customers/${demoCustomerId}/conversionActions/1005` };
const credentials = {
  ...account,
  client_id: demoClient.clientId,
  client_secret: demoClient.clientSecret,
  refresh_token: demoRefreshToken,
};

interface Asked {
  who?: string;
  body?: unknown;
  query?: string;
  method?: string;
  cookie?: string;
}
const ask = (route: typeof connect, { who = "owner", body, query = "", method = "POST", cookie = "" }: Asked = {}) =>
  send(route, {
    method,
    path: `/api/sites/${team.siteId}/google-ads${query}`,
    params: { siteId: team.siteId },
    headers: fromOurPage([cookies[who], cookie].filter(Boolean).join("; ")),
    ...(method === "POST" && { body: body ?? {} }),
  });

describe("who may", () => {
  const routes: [string, typeof connect, unknown][] = [
    ["connect", connect, credentials],
    ["rotate", rotate, { refresh_token: demoRefreshToken }],
    ["test", testConnection, undefined],
    ["actions", actions, { actions: [] }],
    ["actions/available", available, {}],
    ["dry-run", dryRun, { id: "0190b5a8-3f5c-7c1e-8a34-5f0f1c2d3e4f" }],
    ["disconnect", disconnect, undefined],
    ["switch", switchDelivery, { to: "api" }],
  ];

  // Guarantee: only a site's owner touches its access to Google; strangers do not even learn that the site exists.
  test.each(routes)("%s is for owners", async (_name, route, body) => {
    expect((await ask(route, { who: "nobody", body })).status).toBe(401);
    expect((await ask(route, { who: "outsider", body })).status).toBe(404);
    expect((await ask(route, { who: "operator", body })).status).toBe(403);
  });

  test("everybody on the site sees how the connection stands", async () => {
    const response = await ask(connection, { who: "viewer", method: "GET" });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ connected: false, syncMethod: "script", actions: [] });
    expect((await ask(connection, { who: "outsider", method: "GET" })).status).toBe(404);
  });
});

test("a bad body names its field", async () => {
  const refusals = [
    { route: connect, body: { ...credentials, customer_id: "" }, field: "customer_id" },
    {
      route: connect,
      body: { ...credentials, conversion_action_resource_name: "the first one" },
      field: "conversion_action_resource_name",
    },
    { route: connect, body: account, field: "client_id" },
    { route: switchDelivery, body: { to: "mail" }, field: "to" },
    { route: dryRun, body: { id: "x" }, field: "id" },
  ];
  for (const { route, body, field } of refusals) {
    const response = await ask(route, { body });
    expect([field, response.status]).toEqual([field, 400]);
    expect((await response.json()).errors).toContainEqual(expect.objectContaining({ field }));
  }
});

// Guarantee: an owner gets from the script to the API on one page, and no answer ever holds what was typed in.
test("connect, look, test, choose, preview, switch, rotate, disconnect", async () => {
  expect(await (await ask(switchDelivery, { body: { to: "api" } })).json()).toMatchObject({ code: "NOT_CONNECTED" });
  const answers = [
    await ask(connect, { body: credentials }),
    await ask(connection, { method: "GET" }),
    await ask(testConnection),
    await ask(available),
    await ask(actions, {
      body: { actions: [{ conversionName: "OpsMantik_V5_DEMIR_MUHUR", action: account.conversion_action_resource_name }] },
    }),
    await ask(switchDelivery, { body: { to: "api" }, query: "?preview=1" }),
    await ask(switchDelivery, { body: { to: "api" } }),
    await ask(rotate, { body: { refresh_token: demoRefreshToken } }),
    await ask(connection, { method: "GET" }),
    await ask(disconnect),
  ];
  const bodies = await Promise.all(answers.map((answer) => answer.json()));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const [connected, seen, tested, listed, , previewed, switched, rotated, after] = bodies;
  for (const body of [connected, tested, rotated]) connectAnswer.parse(body);
  connectionState.parse(seen);
  actionList.parse(listed);
  expect(connected).toMatchObject({ connected: true, test: { ok: true } });
  expect(seen).toMatchObject({ connected: true, transport: "data_manager", account: { customerId: demoCustomerId }, testError: null });
  const sealAction = { conversionName: "OpsMantik_V5_DEMIR_MUHUR", action: account.conversion_action_resource_name };
  expect(seen.actions).toMatchObject([{ ...sealAction, countingType: "MANY_PER_CLICK" }]); // Google said so while connecting
  expect(after.actions).toMatchObject([{ ...sealAction, countingType: "MANY_PER_CLICK" }]);
  expect(tested).toMatchObject({ test: { ok: true } });
  expect(listed.actions.length).toBeGreaterThan(3);
  expect(previewed).toMatchObject({ connected: true, waiting: 0 });
  expect(switched).toEqual({ ok: true, from: "script", to: "api" });
  expect(rotated).toMatchObject({ connected: true });
  expect(after).toMatchObject({ syncMethod: "api" });
  const said = JSON.stringify(bodies);
  for (const secret of [demoRefreshToken, demoClient.clientSecret, team.siteUuid]) expect(said).not.toContain(secret);
});

// Guarantee: an owner whose conversion action was deleted at Google chooses another, and the connection works again.
test("test and rotation try the action that was chosen last, not the one of the first connection", async () => {
  await ask(connect, { body: credentials });
  const seal = { conversionName: "OpsMantik_V5_DEMIR_MUHUR", action: `customers/${demoCustomerId}/conversionActions/1004` };
  await ask(actions, { body: { actions: [seal] } });
  const { accounts } = await google.admin("GET", "/accounts");
  const { conversionActions } = accounts.find(({ customerId }: { customerId: string }) => customerId === demoCustomerId);
  await google.putAccount({ conversionActions: conversionActions.filter(({ id }: { id: string }) => id !== "1005") });
  try {
    expect(await (await ask(testConnection)).json()).toMatchObject({ test: { ok: true } });
    expect(await (await ask(rotate, { body: { refresh_token: demoRefreshToken } })).json()).toMatchObject({ connected: true });
    await ask(actions, { body: { actions: [{ ...seal, action: account.conversion_action_resource_name }] } });
    const { test: failed } = await (await ask(testConnection)).json();
    expect(failed).toMatchObject({ ok: false, error: { code: "INVALID_CONVERSION_ACTION_ID" } });
  } finally {
    await google.putAccount({ conversionActions });
  }
});

test("a dry run names the field that Google does not take", async () => {
  await ask(connect, { body: credentials });
  const { id } = await sealLead(app.sql, team, { at: anHourAgo() });
  await ask(actions, {
    body: { actions: [{ conversionName: "OpsMantik_V5_DEMIR_MUHUR", action: `customers/${demoCustomerId}/conversionActions/9` }] },
  });
  expect(await (await ask(dryRun, { body: { id } })).json()).toMatchObject({
    ok: false,
    code: "INVALID_CONVERSION_ACTION_ID",
    field: "product_destination_id",
  });
});

test("a dry run answers in its shape; a row of another site is not found", async () => {
  await ask(connect, { body: credentials });
  const { id } = await sealLead(app.sql, team, { at: anHourAgo() });
  expect(dryRunAnswer.parse(await (await ask(dryRun, { body: { id } })).json())).toMatchObject({ ok: true });
  const theirs = await sealLead(app.sql, other, { at: anHourAgo() });
  expect((await ask(dryRun, { body: { id: theirs.id } })).status).toBe(404);
});
