import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { SessionClient } from "#lib/db/session-client.ts";
import {
  chooseActions,
  connectGoogleAds,
  disconnectGoogleAds,
  listActions,
  rotateGoogleAds,
  testGoogleAds,
} from "#lib/delivery/connect.ts";
import type { ConnectInput } from "#lib/delivery/connection-shapes.ts";
import { dryRun } from "#lib/delivery/dry-run.ts";
import { pollVerdicts } from "#lib/delivery/poll-verdicts.ts";
import { processOfflineConversions } from "#lib/delivery/process-offline-conversions.ts";
import { demoClient, demoCustomerId, demoRefreshToken } from "#scripts/local/google/accounts.ts";
import { readRow, type Sealed, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { password, type Team } from "#tests/fixtures/team.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";
import { readHealth } from "#tests/support/circuit.ts";
import { anHourAgo, type DeliveryApp, startDeliveryApp } from "#tests/support/delivery-app.ts";
import { signInAs } from "#tests/support/test-gateway.ts";

type TestGoogle = Awaited<ReturnType<typeof startTestGoogle>>;
let app: DeliveryApp;
let google: TestGoogle;
beforeAll(async () => {
  google = await startTestGoogle();
  app = await startDeliveryApp({ variables: { GOOGLE_API_BASE_URL: google.url, VERDICT_FIRST_POLL_SECONDS: "0" }, withGateway: true });
});
afterAll(async () => {
  await app.stop();
  await google.stop();
});

const input: ConnectInput = {
  customer_id: "123-456-7890",
  client_id: demoClient.clientId,
  client_secret: demoClient.clientSecret,
  refresh_token: demoRefreshToken,
  conversion_action_resource_name: `customers/${demoCustomerId}/conversionActions/1005`,
};

/** The session door as the site's owner has it. */
const asOwner = async ({ owner }: Team) => (await signInAs(app.gateway, { ...owner, password })) as SessionClient;

const deliver = () => processOfflineConversions({ limit: 500, deadlineMs: 60_000 });
/** By a clock that is behind, so that a request without a verdict is due again at once. */
const poll = () => pollVerdicts({ deadlineMs: 60_000, now: () => new Date(Date.now() - 3_600_000) });
const conversionOf = async ({ saleId }: Sealed) => {
  const [row] = await app.sql`select order_id from public.offline_conversion_queue where sale_id = ${saleId} limit 1`;
  return (await google.conversions()).filter(({ orderId }) => orderId === row?.order_id);
};

let team: Team;
let db: SessionClient;
beforeEach(async () => {
  team = await createQueueTeam(app.sql, `site-${Math.random().toString(16).slice(2, 10)}`, app.owner, "api");
  db = await asOwner(team);
  expect(await connectGoogleAds(db, team.siteId, input)).toMatchObject({ connected: true, test: { ok: true } });
});

const seal = (step = {}) => sealLead(app.sql, team, { at: anHourAgo(), step });

describe("a revoked token", () => {
  const revoke = () => google.putAccount({ refreshTokens: [] });
  const grant = (token: string) => google.putAccount({ refreshTokens: [{ token }] });
  afterEach(() => grant(demoRefreshToken));

  // Guarantee: revoked access stops the site at once, and one fix sends everything that it had stopped.
  test("blocks the site; a new token releases it and its failed rows in one step", async () => {
    const sealed = await seal();
    await revoke();
    expect(await deliver()).toMatchObject({ failed: 1 });
    expect(await readRow(app.sql, sealed.id)).toMatchObject({ status: "FAILED", provider_error_category: "AUTH" });
    expect(await readHealth(app.sql, team)).toMatchObject({ blocked_code: expect.any(String) });
    const waiting = await seal();
    expect(await deliver()).toMatchObject({ processed: 0 });
    expect(await testGoogleAds(db, team.siteId)).toMatchObject({ test: { ok: false }, released: 0 });
    expect(await rotateGoogleAds(db, team.siteId, { refresh_token: "1//still-unknown" })).toMatchObject({ connected: false });
    await grant("1//new-token");
    expect(await rotateGoogleAds(db, team.siteId, { refresh_token: "1//new-token" })).toMatchObject({ connected: true, released: 1 });
    expect(await deliver()).toMatchObject({ completed: 2 });
    expect(await readRow(app.sql, waiting.id)).toMatchObject({ attempt_count: 1 });
  });

  // Guarantee: the poller meets a revoked token before the next upload does, and stops that upload.
  test("met by the poller, it blocks as well", async () => {
    await seal();
    await deliver();
    await rotateGoogleAds(db, team.siteId, { refresh_token: "1//new-token" }); // the token that is cached belongs to another version
    await revoke();
    await poll();
    expect(await readHealth(app.sql, team)).toMatchObject({ blocked_code: expect.any(String) });
  });
});

describe("a connection", () => {
  test("lists the account's actions, before and after it is made", async () => {
    const { conversion_action_resource_name: _action, ...account } = input;
    for (const asked of [account, {}]) {
      const { actions } = await listActions(team.siteId, asked);
      expect(actions).toContainEqual(
        expect.objectContaining({ action: `customers/${demoCustomerId}/conversionActions/1005`, name: "OpsMantik_V5_DEMIR_MUHUR" }),
      );
    }
  });

  // Guarantee: an owner sees Google's own answer to a real row without a conversion being made of it.
  test("a dry run asks Google about a row and leaves nothing there", async () => {
    const good = await seal();
    expect(await dryRun(team.siteId, good.id)).toMatchObject({ ok: true, transport: "data_manager" });
    const unknown = `customers/${demoCustomerId}/conversionActions/9999`;
    await chooseActions(db, team.siteId, [{ conversionName: "OpsMantik_V5_DEMIR_MUHUR", action: unknown }]);
    expect(await dryRun(team.siteId, good.id)).toMatchObject({ ok: false, code: expect.any(String), message: expect.any(String) });
    expect(await conversionOf(good)).toEqual([]);
    expect(await readRow(app.sql, good.id)).toMatchObject({ status: "QUEUED", attempt_count: 0 });
    await disconnectGoogleAds(db, team.siteId);
    await expect(dryRun(team.siteId, good.id)).rejects.toMatchObject({ code: "NOT_CONNECTED" });
    await connectGoogleAds(db, team.siteId, input);
    await expect(dryRun(team.siteId, good.saleId)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("wrong credentials are not kept, and Google's reason is told", async () => {
    const answer = await connectGoogleAds(db, team.siteId, { ...input, refresh_token: "1//nobody-knows-it" });
    expect(answer).toMatchObject({ connected: false, test: { ok: false, error: { code: expect.any(String) } } });
    expect(JSON.stringify(answer)).not.toContain("nobody-knows-it");
    const sealed = await seal();
    await deliver();
    expect(await readRow(app.sql, sealed.id)).toMatchObject({ status: "COMPLETED" }); // with those of before
  });

  test("malformed fields are named", async () => {
    await expect(connectGoogleAds(db, team.siteId, { ...input, customer_id: "none" })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      facts: { extra: { errors: [{ field: "customer_id" }] } },
    });
  });

  test("disconnected: rows wait", async () => {
    const sealed = await seal();
    await disconnectGoogleAds(db, team.siteId);
    expect(await deliver()).toMatchObject({ processed: 0 });
    expect(await readRow(app.sql, sealed.id)).toMatchObject({ status: "QUEUED" });
    await expect(testGoogleAds(db, team.siteId)).rejects.toMatchObject({ code: "NOT_CONNECTED" });
  });
});
