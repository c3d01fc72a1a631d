import { createClient } from "@supabase/supabase-js";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { SessionClient } from "#lib/db/session-client.ts";
import { connectGoogleAds } from "#lib/delivery/connect.ts";
import type { ConnectInput } from "#lib/delivery/connection-shapes.ts";
import { pollVerdicts } from "#lib/delivery/poll-verdicts.ts";
import { processOfflineConversions } from "#lib/delivery/process-offline-conversions.ts";
import { recordVisit } from "#scripts/local/demo/record-visit.ts";
import { demoClient, demoCustomerId, demoRefreshToken } from "#scripts/local/google/accounts.ts";
import { accepted, anHourAgo, type DeliveryApp, scriptedProvider, startDeliveryApp } from "#tests/support/delivery-app.ts";
import { startTestGoogle } from "#tests/support/google.ts";
import { change } from "#tests/support/leads.ts";
import { createQueueTeam, readRow, type Sealed, sealLead } from "#tests/support/queue.ts";
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
const _sealName = "OpsMantik_V5_DEMIR_MUHUR";

async function asOwner(team: Team): Promise<SessionClient> {
  const client = createClient(app.gateway.url, app.gateway.publishableKey, { auth: { persistSession: false } });
  const { error } = await client.auth.signInWithPassword({ email: team.owner.email, password });
  if (error) throw error;
  return client as SessionClient;
}

const deliver = (provider?: ReturnType<typeof scriptedProvider>) =>
  processOfflineConversions({ limit: 500, deadlineMs: 60_000, ...(provider && { provider }) });
const poll = () => pollVerdicts({ deadlineMs: 60_000, now: () => new Date(Date.now() - 3_600_000) });
const processingSeconds = 31 * 60;
const conversionOf = async ({ saleId }: Sealed) => {
  const [row] = await app.sql`select order_id from public.offline_conversion_queue where sale_id = ${saleId} limit 1`;
  return (await google.conversions()).filter(({ orderId }) => orderId === row?.order_id);
};

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

// Guarantee: what Google has stays correctable after the visitor withdrew ("its order id is enough to correct it").
test("a sale whose visitor withdrew can still be corrected at Google", async () => {
  const visitor = `withdraws-${Math.random()}`;
  const sealed = await seal({ visitor });
  await deliver();
  await google.advance(processingSeconds);
  await poll();
  await recordVisit(app.sql, team.siteId, visitor, [{ at: new Date(), url: "https://review.test/", marketingConsent: false }]);
  await change(app.sql, { team }, "correct_sale", { id: sealed.saleId, amountCents: 500_000 });
  await deliver();
  await google.advance(processingSeconds);
  await poll();
  expect(await conversionOf(sealed)).toMatchObject([{ value: 5000 }]);
});

// Guarantee: a sale that was cancelled does not go on counting. An upload that got no answer may have arrived; only Google can say, and the Ads API
// refuses a retraction of what it does not know.
test("a sale that is cancelled after an upload without an answer is taken back at Google", async () => {
  const sealed = await seal();
  await google.addFault({ match: { service: "data_manager", method: "ingest" }, times: 1, kind: "timeout_after_accept" });
  expect(await deliver()).toMatchObject({ retry: 1 });
  await change(app.sql, { team }, "cancel_sale", { id: sealed.saleId });
  for (let run = 0; run < 3; run++) {
    await deliver();
    await google.advance(processingSeconds);
    await poll();
  }
  expect((await conversionOf(sealed)).filter(({ isRetracted }) => !isRetracted)).toEqual([]);
});

// Guarantee: the same for a worker that died between Google's answer and the settlement.
test("a sale that is cancelled while its worker is lost is taken back at Google", async () => {
  const sealed = await seal();
  const dead = scriptedProvider(async (jobs, connection, signal) => {
    const { googleAds } = await import("#lib/providers/google-ads-platform.ts");
    await googleAds().uploadConversions(jobs, connection, signal);
    await change(app.sql, { team }, "cancel_sale", { id: sealed.saleId });
    throw new TypeError("the worker dies here");
  });
  await deliver(dead);
  for (let run = 0; run < 3; run++) {
    await deliver();
    await google.advance(processingSeconds);
    await poll();
  }
  expect((await conversionOf(sealed)).filter(({ isRetracted }) => !isRetracted)).toEqual([]);
});
