import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { ClaimedJob } from "#lib/delivery/pipeline.ts";
import { sendBatch } from "#lib/delivery/send-batch.ts";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import type { ConversionJob, Provider, UploadResult } from "#lib/providers/port.ts";
import { connectionOf, jobOf, type ScriptedGoogle, startScriptedGoogle, useGoogleEnv } from "#tests/support/scripted-google.ts";

let google: ScriptedGoogle;
beforeAll(async () => {
  google = await startScriptedGoogle();
  useGoogleEnv(google.url);
});
afterAll(() => google.stop());
beforeEach(() => {
  google.requests.length = 0;
});

interface Sending {
  signal?: AbortSignal;
  provider?: Provider;
}
const named = (jobs: ConversionJob[]): ClaimedJob[] => jobs.map((job) => ({ ...job, conversionName: "seal" }));
const send = (jobs: ConversionJob[], { signal = AbortSignal.timeout(20_000), provider = googleAds() }: Sending = {}) =>
  sendBatch(
    { token: randomUUID(), gate: "CLOSED", jobs: named(jobs), credentialsVersion: 1, last: null },
    { provider, providerKey: "google_ads", connection: connectionOf({ fetchTimeoutMs: 10_000 }), signal, now: () => new Date() },
  );
const statusOf = ({ results }: { results: UploadResult[] }) => results.map(({ status }) => status);
/** A 200 of the Ads API in which the first row failed. */
const refusedRow = (fieldName: string, errorCode: Record<string, string>, message = "no") => {
  const failure = {
    "@type": "type.googleapis.com/google.ads.googleads.v26.errors.GoogleAdsFailure",
    errors: [{ errorCode, message, location: { fieldPathElements: [{ fieldName, index: 0 }] } }],
  };
  return { body: { partialFailureError: { code: 3, details: [failure] }, results: [{}] } };
};
const otherAction = "customers/1234567890/conversionActions/1006";

// Guarantee: what Google took before the run's time was up is COMPLETED. Without it, on its last attempt such a row fails for good although
// Google counts it, and a later cancellation is never told.
test("the end of the run between two requests of a batch keeps what the first request decided", async () => {
  const end = new AbortController();
  google.answer("events:ingest", { body: { requestId: "taken-1" } }, () => {
    end.abort();
    return { isSilent: true };
  });
  const sent = await send([jobOf(1), jobOf(2, { conversionAction: otherAction })], { signal: end.signal });
  expect(google.sent("events:ingest")).toHaveLength(2);
  expect(statusOf(sent)).toEqual(["COMPLETED", "RETRY"]);
});

test("the end of the run while Google is asked for a fresh token keeps what was decided before", async () => {
  const end = new AbortController();
  google.answer("events:ingest", { body: { requestId: "taken-1" } }, { status: 401 });
  google.answer("oauth2/token", { body: { access_token: "ya29.first" } }, () => {
    end.abort();
    return { isSilent: true };
  });
  const sent = await send([jobOf(1), jobOf(2, { conversionAction: otherAction })], { signal: end.signal });
  expect(statusOf(sent)).toEqual(["COMPLETED", "RETRY"]);
  google.answer("oauth2/token", { body: { access_token: "ya29.next" } });
});

// Guarantee: a message of Google is cut between characters, so that it can be stored. Half a character is refused by the database, and with it the batch.
test("a long message is not cut inside a character", async () => {
  const message = `${"x".repeat(499 - "UNPARSEABLE_GCLID: ".length)}😀 could not be decoded.`;
  google.answer(":uploadClickConversions", refusedRow("conversions", { conversionUploadError: "UNPARSEABLE_GCLID" }, message));
  const { results } = await send([jobOf(1, { via: "ads_api" })]);
  expect(results[0]?.message?.isWellFormed()).toBe(true);
});

// Guarantee: a wait that Google asks for is bounded: neither does a number too large for a date throw the batch away, nor is a site shut for years.
test.each([
  ["too large for a date", "9999999999999"],
  ["thirty years", String(30 * 365 * 86_400)],
])("a 429 with a Retry-After that is %s still gives every row a result, and a wait of at most a day and a bit", async (_name, seconds) => {
  google.answer("events:ingest", { status: 429, headers: { "retry-after": seconds }, body: { error: { status: "RESOURCE_EXHAUSTED" } } });
  const { results, facts } = await send([jobOf(1)]);
  expect(results).toHaveLength(1);
  expect(Date.parse(facts.quotaUntil ?? "")).toBeLessThan(Date.now() + 25 * 3_600_000);
});

// Guarantee: whatever an adapter gives for a time, every row gets its result.
test("a time that is none is left out", async () => {
  const none = new Date(Number.NaN);
  const provider: Provider = {
    ...googleAds(),
    uploadConversions: async ([job]) => ({
      results: [{ id: String(job?.id), status: "RETRY", transport: "data_manager", retryAt: none }],
      quota: { until: none, isShared: false },
    }),
  };
  const { results, facts } = await send([jobOf(1)], { provider });
  expect(results).toEqual([{ id: "row-1", status: "RETRY", transport: "data_manager" }]);
  expect(facts.quotaUntil).toBeUndefined();
});

// Guarantee: an answer about a row says nothing about the provider's health: five corrections too early, or five times a code that is new to us,
// do not stop a whole site. What Google says of itself does count.
test.each([
  ["CONVERSION_NOT_FOUND", { conversionAdjustmentUploadError: "CONVERSION_NOT_FOUND" }, "definite"],
  ["a later restatement", { conversionAdjustmentUploadError: "MORE_RECENT_RESTATEMENT_FOUND" }, "definite"],
  ["a code that nobody knows", { conversionAdjustmentUploadError: "BRAND_NEW" }, "definite"],
  ["an internal error", { internalError: "INTERNAL_ERROR" }, "transient"],
  ["a short quota", { quotaError: "RESOURCE_TEMPORARILY_EXHAUSTED" }, "transient"],
])("a batch of nothing but %s counts against the circuit only when Google is at fault", async (_name, errorCode, outcome) => {
  google.answer(":uploadConversionAdjustments", refusedRow("conversion_adjustments", errorCode));
  const { results, facts } = await send([jobOf(1, { kind: "RETRACT", via: "ads_api" })]);
  expect(results).toMatchObject([{ status: "RETRY" }]);
  expect(facts.outcome).toBe(outcome);
});

// Guarantee: "Messages pass withoutSecrets and the log's redaction before they are stored" (docs/delivery.md) holds for the message of a block, too.
test("neither the rows nor the message of a block show an address", async () => {
  google.answer("events:ingest", {
    status: 403,
    body: { error: { status: "PERMISSION_DENIED", message: "mary.smith@customer.test has no access" } },
  });
  const { results, facts } = await send([jobOf(1)]);
  expect(results[0]?.message).not.toContain("mary.smith@");
  expect(facts.block?.message).toContain("has no access");
  expect(facts.block?.message).not.toContain("mary.smith@");
});
