import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { SessionClient } from "#lib/db/session-client.ts";
import { chooseActions, connectGoogleAds, rotateGoogleAds, testGoogleAds } from "#lib/delivery/connect.ts";
import type { ConnectInput } from "#lib/delivery/connection-shapes.ts";
import { pollVerdicts } from "#lib/delivery/poll-verdicts.ts";
import { processOfflineConversions } from "#lib/delivery/process-offline-conversions.ts";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import { demoClient, demoCustomerId, demoRefreshToken, newAccount, newAction, newGrant } from "#scripts/local/google/accounts.ts";
import { readRow, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { password, type Team } from "#tests/fixtures/team.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";
import { readHealth } from "#tests/support/circuit.ts";
import { readConnection } from "#tests/support/connections.ts";
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

let team: Team;
let db: SessionClient;
beforeEach(async () => {
  team = await createQueueTeam(app.sql, `site-${Math.random().toString(16).slice(2, 10)}`, app.owner, "api");
  db = await asOwner(team);
  expect(await connectGoogleAds(db, team.siteId, input)).toMatchObject({ connected: true });
});
const seal = (step = {}) => sealLead(app.sql, team, { at: anHourAgo(), step });

// Guarantee: that the new account may not read a verdict says nothing about whether it may send, nor about the verdict: it is read when the
// site comes back. Mutations that break it: block whichever account sent the request; give up at the first refusal.
test("requests of an earlier account do not block the account that the site is connected to now", async () => {
  const { saleId } = await seal();
  await deliver();
  const token = "1//of-another-account";
  await google.putAccount({ ...newAccount("5555555555"), refreshTokens: [newGrant({ token })] });
  const moved = { customer_id: "5555555555", refresh_token: token, conversion_action_resource_name: actionAt("1005", "5555555555") };
  expect(await connectGoogleAds(db, team.siteId, { ...input, ...moved })).toMatchObject({ connected: true });
  await poll();
  expect((await readHealth(app.sql, team))?.blocked_code).toBeNull();
  const verdict = () => app.sql`select verdict from public.provider_dispatches where sale_id = ${saleId}`;
  expect(await verdict()).toEqual([{ verdict: null }]);
  expect(await connectGoogleAds(db, team.siteId, input)).toMatchObject({ connected: true });
  await google.advance(processingSeconds);
  await poll();
  expect(await verdict()).toEqual([{ verdict: "CONFIRMED" }]);
});

// Guarantee: a block of an action ends when that action was tested, not another one.
// Mutation that breaks it: give recordTest every chosen name.
test("a test that did not look at a blocked action leaves it blocked", async () => {
  await chooseActions(db, team.siteId, [{ conversionName: sealName, action: actionAt("9999") }]);
  await seal();
  await deliver();
  expect((await readConnection(app.sql, team)).actions).toMatchObject([
    { action: actionAt("9999"), blocked: { code: expect.any(String) } },
  ]);
  await testGoogleAds(db, team.siteId);
  expect((await readConnection(app.sql, team)).actions).toMatchObject([{ blocked: { code: expect.any(String) } }]);
});

// Guarantee: "the connection works" never hides that a stage before the seal is refused: the answer names it and why.
// Mutation that breaks it: leave refusedActions empty.
test("a passed test names the other action that Google refuses", async () => {
  const meeting = "OpsMantik_V4_Randevu";
  await chooseActions(db, team.siteId, [
    { conversionName: sealName, action: actionAt("1005") },
    { conversionName: meeting, action: actionAt("9999") },
  ]);
  expect(await testGoogleAds(db, team.siteId)).toMatchObject({
    test: { ok: true, refusedActions: [{ conversionName: meeting, code: "INVALID_CONVERSION_ACTION_ID" }] },
  });
  const { actions } = await readConnection(app.sql, team);
  expect(actions.find(({ conversionName }) => conversionName === meeting)).toMatchObject({ googleName: null });
});

// Guarantee: an owner whose first action is gone, and who chose another, can test and rotate.
// Mutation that breaks it: test the action that the credentials were first given with.
test("test and rotation look at the actions that are chosen, not at the one of the first connection", async () => {
  const conversionActions = [newAction({ id: "2005", name: sealName })];
  await google.putAccount({ conversionActions: [...newAccount(demoCustomerId).conversionActions, ...conversionActions] });
  await chooseActions(db, team.siteId, [{ conversionName: sealName, action: actionAt("2005") }]);
  await google.putAccount({ conversionActions });
  try {
    const sealed = await seal();
    expect(await deliver()).toMatchObject({ completed: 1 });
    expect(await readRow(app.sql, sealed.id)).toMatchObject({ status: "COMPLETED" });
    expect(await testGoogleAds(db, team.siteId)).toMatchObject({ test: { ok: true } });
    expect(await rotateGoogleAds(db, team.siteId, { refresh_token: demoRefreshToken })).toMatchObject({ connected: true });
  } finally {
    await google.putAccount({ conversionActions: newAccount(demoCustomerId).conversionActions });
  }
});

// Guarantee: what is wrong with an action does not keep an owner from renewing the access that the other conversions need; a token that does not
// open the account is not kept.
// Mutations that break it: require test.ok of a rotation; keep a token whatever the test says.
test("a rotation is kept although an action is gone, and refused when the token opens no account", async () => {
  await chooseActions(db, team.siteId, [{ conversionName: sealName, action: actionAt("9999") }]);
  expect(await rotateGoogleAds(db, team.siteId, { refresh_token: demoRefreshToken })).toMatchObject({
    connected: true,
    test: { ok: false, error: { code: "INVALID_CONVERSION_ACTION_ID" } },
  });
  const token = "1//of-a-stranger";
  await google.putAccount({ ...newAccount("6666666666"), refreshTokens: [newGrant({ token })] });
  expect(await rotateGoogleAds(db, team.siteId, { refresh_token: token })).toMatchObject({ connected: false, test: { ok: false } });
});

// Guarantee: a good token is never replaced by one that nobody has seen open the account; the rows that a block had failed are not burnt on it.
// Mutation that breaks it: excuse every required check whose code names no field of the account.
test.each([
  ["Google does not answer", { kind: "status", status: 503 }, "UNAVAILABLE"],
  ["Google asks to slow down", { kind: "status", status: 429 }, "RATE_LIMIT"],
  ["the OAuth client is deleted", { kind: "status", status: 401, reason: "deleted_client" }, "DELETED_CLIENT"],
])("a rotation is not kept when %s", async (_name, fault, code) => {
  await google.addFault({ match: { method: "token" }, ...fault });
  try {
    const answer = await rotateGoogleAds(db, team.siteId, { refresh_token: "1//a-typing-mistake" });
    expect(answer).toMatchObject({ connected: false, released: 0, test: { ok: false, error: { code } } });
  } finally {
    await google.admin("DELETE", "/faults");
  }
  await seal();
  expect(await deliver()).toMatchObject({ completed: 1 }); // with the token of before
});

// Guarantee: what our books call an action is where its conversions are. Data Manager is told a number only, which would be another action in the
// connected account.
// Mutations that break it: drop requireOwnAction, or check_owner.
test("an action of another account than the connected one is refused, when connecting and when choosing", async () => {
  const foreign = actionAt("1005", "9999999999");
  await expect(connectGoogleAds(db, team.siteId, { ...input, conversion_action_resource_name: foreign })).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
    facts: { extra: { errors: [{ field: "conversion_action_resource_name", code: "OTHER_ACCOUNT" }] } },
  });
  await expect(chooseActions(db, team.siteId, [{ conversionName: sealName, action: foreign }])).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
  });
  expect((await readConnection(app.sql, team)).actions).toMatchObject([{ action: actionAt("1005") }]);
});

// Guarantee: the verdict of a request is not given up because the connection changed while its answer was on its way.
// Mutation that breaks it: take the request's account from the credentials that the database has when the batch is settled.
test("a request belongs to the account that it was sent to, although somebody pressed Test while the batch was away", async () => {
  const { saleId } = await seal();
  const real = googleAds();
  const provider = {
    ...real,
    uploadConversions: async (...args: Parameters<typeof real.uploadConversions>) => {
      const upload = await real.uploadConversions(...args);
      await testGoogleAds(db, team.siteId); // a new version before the answer is stored
      return upload;
    },
  };
  expect(await processOfflineConversions({ limit: 500, deadlineMs: 60_000, provider })).toMatchObject({ completed: 1 });
  await google.addFault({ match: { method: "retrieve" }, times: null, kind: "status", status: 403, reason: "PERMISSION_DENIED" });
  await poll();
  await google.admin("DELETE", "/faults");
  expect(await app.sql`select verdict from public.provider_dispatches where sale_id = ${saleId}`).toEqual([{ verdict: null }]);
  expect((await readHealth(app.sql, team))?.blocked_code).toBe("PERMISSION_DENIED");
});
