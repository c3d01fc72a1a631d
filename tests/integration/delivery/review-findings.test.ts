import { createClient } from "@supabase/supabase-js";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { SessionClient } from "#lib/db/session-client.ts";
import { connectGoogleAds } from "#lib/delivery/connect.ts";
import type { ConnectInput } from "#lib/delivery/connection-shapes.ts";
import { processOfflineConversions } from "#lib/delivery/process-offline-conversions.ts";
import { demoClient, demoCustomerId, demoRefreshToken } from "#scripts/local/google/accounts.ts";
import { accepted, anHourAgo, type DeliveryApp, scriptedProvider, startDeliveryApp } from "#tests/support/delivery-app.ts";
import { startTestGoogle } from "#tests/support/google.ts";
import { createQueueTeam, readRow, sealLead } from "#tests/support/queue.ts";
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

async function asOwner(team: Team): Promise<SessionClient> {
  const client = createClient(app.gateway.url, app.gateway.publishableKey, { auth: { persistSession: false } });
  const { error } = await client.auth.signInWithPassword({ email: team.owner.email, password });
  if (error) throw error;
  return client as SessionClient;
}

const deliver = (provider?: ReturnType<typeof scriptedProvider>) =>
  processOfflineConversions({ limit: 500, deadlineMs: 60_000, ...(provider && { provider }) });

let team: Team;
let db: SessionClient;
beforeEach(async () => {
  team = await createQueueTeam(app.sql, `site-${Math.random().toString(16).slice(2, 10)}`, app.owner, "api");
  db = await asOwner(team);
  expect(await connectGoogleAds(db, team.publicId, input)).toMatchObject({ connected: true });
});
const seal = (step = {}) => sealLead(app.sql, team, { at: anHourAgo(), step });

// Guarantee: one row's error text never keeps the answers of its whole batch from being stored. A visitor chooses what stands in a click id, and
// Google repeats it in its message.
test("a message that ends in half a character does not lose the batch's answers", async () => {
  const [good, bad] = [await seal(), await seal()];
  const half = `${"x".repeat(499)}😀`.slice(0, 500); // as row-result.ts cuts it
  const provider = scriptedProvider((jobs) => ({
    results: jobs.map((job) =>
      job.id === good.id
        ? accepted(job)
        : { id: job.id, status: "FAILED", transport: job.via, code: "UNPARSEABLE_GCLID", category: "VALIDATION", message: half },
    ),
  }));
  await deliver(provider);
  expect(await readRow(app.sql, good.id)).toMatchObject({ status: "COMPLETED" });
  expect(await readRow(app.sql, bad.id)).toMatchObject({ status: "FAILED" });
});
