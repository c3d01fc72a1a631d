import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { SessionClient } from "#lib/db/session-client.ts";
import { connectGoogleAds } from "#lib/delivery/connect.ts";
import type { ConnectInput } from "#lib/delivery/connection-shapes.ts";
import { pollVerdicts } from "#lib/delivery/poll-verdicts.ts";
import { processOfflineConversions } from "#lib/delivery/process-offline-conversions.ts";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import { demoClient, demoCustomerId, demoRefreshToken } from "#scripts/local/google/accounts.ts";
import { change } from "#tests/fixtures/leads.ts";
import { moveConversion, readRow, type Sealed, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { recordVisit } from "#tests/fixtures/record-visit.ts";
import { password, type Team } from "#tests/fixtures/team.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";
import { readStats } from "#tests/support/control.ts";
import { anHourAgo, type DeliveryApp, scriptedProvider, startDeliveryApp } from "#tests/support/delivery-app.ts";
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
const processingSeconds = 31 * 60;
const verdictOf = async ({ saleId }: Sealed) =>
  (
    await app.sql`select verdict, verdict_reason, transport from public.provider_dispatches where sale_id = ${saleId} order by dispatched_at desc limit 1`
  )[0];
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

// Guarantee: a sealed lead of an API site becomes a conversion at Google, once, with its value, and Google's verdict comes back to it.
test("seal, worker, poll: CONFIRMED", async () => {
  const sealed = await seal();
  expect(await deliver()).toEqual({ ok: true, processed: 1, completed: 1, failed: 0, retry: 0 });
  expect(await readRow(app.sql, sealed.id)).toMatchObject({ status: "COMPLETED" });
  expect(await verdictOf(sealed)).toMatchObject({ transport: "data_manager", verdict: null });
  expect(await poll()).toMatchObject({ polled: 1, later: 1, decided: 0 });
  await google.advance(processingSeconds);
  const before = await readStats(app.sql, team, new Date());
  expect(await poll()).toMatchObject({ polled: 1, decided: 1 });
  expect((await readStats(app.sql, team, new Date())).lastUpdatedAt).not.toBe(before.lastUpdatedAt); // a screen that is open sees it
  expect(await verdictOf(sealed)).toMatchObject({ verdict: "CONFIRMED" });
  expect(await conversionOf(sealed)).toMatchObject([{ value: 4250, currency: "TRY", actionId: "1005", sends: 1 }]);
  expect(await poll()).toMatchObject({ polled: 0 });
});

// Guarantee: an answer that was lost on its way costs a second send and never a second conversion.
test("Google accepts and the answer is lost: sent again under the same order id, counted once", async () => {
  const sealed = await seal();
  await google.addFault({ match: { service: "data_manager", method: "ingest" }, times: 1, kind: "timeout_after_accept" });
  expect(await deliver()).toMatchObject({ retry: 1 });
  expect(await readRow(app.sql, sealed.id)).toMatchObject({
    status: "RETRY",
    provider_error_category: "TRANSIENT",
    provider_error_code: null,
  });
  await moveConversion(app.sql, team, { id: sealed.id, to: "QUEUED" });
  expect(await deliver()).toMatchObject({ completed: 1 });
  await google.advance(processingSeconds);
  await poll();
  expect(await conversionOf(sealed)).toMatchObject([{ value: 4250, sends: 2 }]);
  expect((await verdictOf(sealed))?.verdict).toMatch(/^(CONFIRMED|DUPLICATE)$/);
});

// Guarantee: a corrected sale is corrected at Google, but not before Google has it: an unmatched id would become a second conversion.
test("a correction waits for the verdict and then restates", async () => {
  const sealed = await seal();
  await deliver();
  await change(app.sql, { team }, "correct_sale", { id: sealed.saleId, amountCents: 500_000 });
  expect(await deliver()).toMatchObject({ processed: 0 });
  await google.advance(processingSeconds);
  await poll();
  expect(await deliver()).toMatchObject({ completed: 1 });
  await google.advance(processingSeconds);
  await poll();
  expect(await conversionOf(sealed)).toMatchObject([{ value: 5000 }]);
});

// Guarantee: a click that Google refuses later is shown with Google's reason, though the row itself was taken.
test("rejected after it was accepted: the verdict and its reason are kept", async () => {
  const sealed = await seal({ gclid: `gclid-NotFound-${Math.random().toString(16).slice(2)}` });
  await deliver();
  await google.advance(processingSeconds);
  await poll();
  expect(await verdictOf(sealed)).toMatchObject({ verdict: "REJECTED" });
  expect((await verdictOf(sealed))?.verdict_reason).toContain("CLICK_NOT_FOUND");
});

// Guarantee: Google's verdict arrives whatever its reason looks like. One that Postgres refused would be asked for again and again, and the
// sale's corrections would wait for it for ever.
test("a verdict whose reason holds what no text column takes is still a verdict", async () => {
  const sealed = await seal();
  await deliver();
  const rejected = { index: 0, verdict: "REJECTED", reason: "NEW_\u0000REASON", retryable: false } as const;
  const provider = { ...googleAds(), readVerdicts: async () => ({ status: "FAILED" as const, verdicts: [rejected], rest: null }) };
  expect(await pollVerdicts({ deadlineMs: 60_000, provider })).toMatchObject({ decided: 1, failed: 0 });
  expect(await verdictOf(sealed)).toMatchObject({ verdict: "REJECTED", verdict_reason: "NEW_\uFFFDREASON" });
});

// Guarantee: what Google never decides does not stay open for ever.
test("a week without a verdict: UNKNOWN", async () => {
  const sealed = await seal();
  await deliver();
  await pollVerdicts({ deadlineMs: 60_000, now: () => new Date(Date.now() + 8 * 86_400_000) });
  expect(await verdictOf(sealed)).toMatchObject({ verdict: "UNKNOWN" });
});

// Guarantee: what Google has stays correctable after the visitor withdrew ("its order id is enough to correct it").
test("a sale whose visitor withdrew can still be corrected at Google", async () => {
  const visitor = `withdraws-${Math.random()}`;
  const sealed = await seal({ visitor });
  await deliver();
  await google.advance(processingSeconds);
  await poll();
  await recordVisit(app.sql, team.siteUuid, visitor, [{ at: new Date(), url: "https://withdrew.test/", marketingConsent: false }]);
  await change(app.sql, { team }, "correct_sale", { id: sealed.saleId, amountCents: 500_000 });
  await deliver();
  await google.advance(processingSeconds);
  await poll();
  expect(await conversionOf(sealed)).toMatchObject([{ value: 5000 }]);
});

// Guarantee: a sale that was cancelled does not go on counting. An upload that got no answer may have arrived; only Google can say, and the Ads
// API refuses a retraction of what it does not know.
describe("a sale that is cancelled and whose upload got no answer is taken back at Google", () => {
  const losses: [string, (sealed: Sealed) => Promise<unknown>][] = [
    [
      "when Google accepted it and the answer was lost",
      async ({ saleId }) => {
        await google.addFault({ match: { service: "data_manager", method: "ingest" }, times: 1, kind: "timeout_after_accept" });
        expect(await deliver()).toMatchObject({ retry: 1 });
        await change(app.sql, { team }, "cancel_sale", { id: saleId });
      },
    ],
    [
      "when the worker was lost after Google had answered it",
      async ({ saleId }) => {
        const provider = scriptedProvider(async (jobs, connection, signal) => {
          await googleAds().uploadConversions(jobs, connection, signal);
          await change(app.sql, { team }, "cancel_sale", { id: saleId });
          throw new TypeError("the worker dies here");
        });
        await processOfflineConversions({ limit: 500, deadlineMs: 60_000, provider });
      },
    ],
  ];
  test.each(losses)("%s", async (_name, lose) => {
    const sealed = await seal();
    await lose(sealed);
    await google.advance(processingSeconds);
    await deliver();
    expect(await conversionOf(sealed)).toMatchObject([{ isRetracted: true }]);
  });
});

// Guarantee: one request that Google cannot tell of does not keep the others' verdicts.
test("a poll that fails is asked again later, and stops no other", async () => {
  const first = await seal();
  await deliver();
  const second = await seal();
  await deliver();
  await google.advance(processingSeconds);
  await google.addFault({ match: { service: "data_manager", method: "retrieve" }, times: 1, kind: "status", status: 503 });
  expect(await poll()).toMatchObject({ polled: 2, decided: 1, later: 1 });
  await poll();
  for (const sealed of [first, second]) expect(await verdictOf(sealed)).toMatchObject({ verdict: "CONFIRMED" });
});
