import { createClient } from "@supabase/supabase-js";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { SessionClient } from "#lib/db/session-client.ts";
import { connectGoogleAds } from "#lib/delivery/connect.ts";
import type { ConnectInput } from "#lib/delivery/connection-shapes.ts";
import { pollVerdicts } from "#lib/delivery/poll-verdicts.ts";
import { processOfflineConversions } from "#lib/delivery/process-offline-conversions.ts";
import { demoClient, demoCustomerId, demoRefreshToken, newAccount, newGrant } from "#scripts/local/google/accounts.ts";
import { readHealth } from "#tests/support/circuit.ts";
import { anHourAgo, type DeliveryApp, startDeliveryApp } from "#tests/support/delivery-app.ts";
import { startTestGoogle } from "#tests/support/google.ts";
import { createQueueTeam, sealLead } from "#tests/support/queue.ts";
import { password, type Team } from "#tests/support/team.ts";

let app: DeliveryApp;
let google: Awaited<ReturnType<typeof startTestGoogle>>;
beforeAll(async () => {
  google = await startTestGoogle();
  app = await startDeliveryApp({ variables: { GOOGLE_API_BASE_URL: google.url, VERDICT_FIRST_POLL_SECONDS: "0" } });
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

/** The session door as the site's owner has it. */
async function asOwner(team: Team): Promise<SessionClient> {
  const client = createClient(app.gateway.url, app.gateway.publishableKey, { auth: { persistSession: false } });
  const { error } = await client.auth.signInWithPassword({ email: team.owner.email, password });
  if (error) throw error;
  return client as SessionClient;
}

const deliver = () => processOfflineConversions({ limit: 500, deadlineMs: 60_000 });
/** By a clock that is behind, so that a request without a verdict is due again at once. */
const poll = () => pollVerdicts({ deadlineMs: 60_000, now: () => new Date(Date.now() - 3_600_000) });

let team: Team;
let db: SessionClient;
beforeEach(async () => {
  team = await createQueueTeam(app.sql, `site-${Math.random().toString(16).slice(2, 10)}`, app.owner, "api");
  db = await asOwner(team);
  expect(await connectGoogleAds(db, team.publicId, input)).toMatchObject({ connected: true });
});
const seal = (step = {}) => sealLead(app.sql, team, { at: anHourAgo(), step });

// Guarantee: that the new account may not read a verdict says nothing about whether it may send.
// Mutation that breaks it: block whichever account sent the request.
test("requests of an earlier account do not block the account that the site is connected to now", async () => {
  const { saleId } = await seal();
  await deliver();
  const token = "1//of-another-account";
  await google.putAccount({ ...newAccount("5555555555"), refreshTokens: [newGrant({ token })] });
  const moved = { customer_id: "5555555555", refresh_token: token, conversion_action_resource_name: actionAt("1005", "5555555555") };
  expect(await connectGoogleAds(db, team.publicId, { ...input, ...moved })).toMatchObject({ connected: true });
  await poll();
  expect((await readHealth(app.sql, team))?.blocked_code).toBeNull();
  expect(await app.sql`select verdict from public.provider_dispatches where sale_id = ${saleId}`).toEqual([{ verdict: "UNKNOWN" }]);
});
