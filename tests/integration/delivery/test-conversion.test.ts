import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { SessionClient } from "#lib/db/session-client.ts";
import { chooseActions, connectGoogleAds } from "#lib/delivery/connect.ts";
import { testConversion } from "#lib/delivery/test-conversion.ts";
import { readSiteSetup } from "#lib/tenancy/site-setup.ts";
import { demoClient, demoCustomerId, demoRefreshToken } from "#scripts/local/google/accounts.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { recordVisit } from "#tests/fixtures/record-visit.ts";
import { password, type Team } from "#tests/fixtures/team.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";
import { type DeliveryApp, startDeliveryApp } from "#tests/support/delivery-app.ts";
import { signInAs } from "#tests/support/test-gateway.ts";

let app: DeliveryApp;
let google: Awaited<ReturnType<typeof startTestGoogle>>;
let team: Team;
let db: SessionClient;
beforeAll(async () => {
  google = await startTestGoogle();
  app = await startDeliveryApp({ variables: { GOOGLE_API_BASE_URL: google.url }, withGateway: true });
});
afterAll(async () => {
  await app.stop();
  await google.stop();
});
beforeEach(async () => {
  team = await createQueueTeam(app.sql, `site-${Math.random().toString(16).slice(2, 10)}`, app.owner, "api");
  db = (await signInAs(app.gateway, { ...team.owner, password })) as SessionClient;
  const connected = await connectGoogleAds(db, team.siteId, {
    customer_id: demoCustomerId,
    client_id: demoClient.clientId,
    client_secret: demoClient.clientSecret,
    refresh_token: demoRefreshToken,
    conversion_action_resource_name: `customers/${demoCustomerId}/conversionActions/1005`,
  });
  expect(connected).toMatchObject({ connected: true });
});

const adClick = (gclid: string) =>
  recordVisit(app.sql, team.siteUuid, "visitor", [
    { at: new Date(Date.now() - 8 * 3_600_000), url: "https://shop.test/", gclid, marketingConsent: true },
  ]);
const ticked = async () => (await readSiteSetup(db, team.siteId)).steps.filter(({ at }) => at !== null).map(({ step }) => step);

describe("a test conversion by API", () => {
  // Guarantee: Google checks it and counts nothing. Mutation: send it without validateOnly.
  test("is checked by Google, counted by nobody, and ticks the test", async () => {
    const before = (await google.conversions()).length;
    await adClick("gclid-of-an-api-test");
    expect(await testConversion(team.siteId)).toEqual({ ok: true, problem: null });
    expect((await google.conversions()).length).toBe(before);
    const sent = (await google.log()).filter(({ rows }) => rows.some(({ orderId }) => orderId?.startsWith("test_")));
    expect(sent.map(({ isValidateOnly }) => isValidateOnly)).toEqual([true]);
    expect(await ticked()).toEqual(expect.arrayContaining(["actions", "delivery", "test"]));
    const [rows] = await app.sql`select count(*)::int as rows from public.offline_conversion_queue where site_id = ${team.siteUuid}`;
    expect(rows?.rows).toBe(0);
  });

  test("without a click says which step comes first", async () => {
    expect(await testConversion(team.siteId)).toEqual({ ok: false, problem: "NO_CLICK" });
    expect(await ticked()).not.toContain("test");
  });

  test("is refused for an action that the account does not have, with Google's code", async () => {
    await adClick("gclid-of-a-refused-test");
    const unknown = `customers/${demoCustomerId}/conversionActions/9999`;
    await chooseActions(db, team.siteId, [{ conversionName: "OpsMantik_V5_DEMIR_MUHUR", action: unknown }]);
    const answer = await testConversion(team.siteId);
    expect(answer).toMatchObject({ ok: false, problem: expect.stringMatching(/ACTION/) });
    expect((await readSiteSetup(db, team.siteId)).lastTest).toMatchObject({ problem: answer.problem });
    expect(await ticked()).not.toContain("test");
  });
});
