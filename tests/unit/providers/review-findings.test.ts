import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { ClaimedJob } from "#lib/delivery/pipeline.ts";
import { sendBatch } from "#lib/delivery/send-batch.ts";
import { quotaWait } from "#lib/providers/google/quota.ts";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import type { ConversionJob, UploadResult } from "#lib/providers/port.ts";
import {
  connectionOf,
  jobOf,
  type ScriptedGoogle,
  type SentRequest,
  startScriptedGoogle,
  useGoogleEnv,
} from "#tests/support/scripted-google.ts";

let google: ScriptedGoogle;
beforeAll(async () => {
  google = await startScriptedGoogle();
  useGoogleEnv(google.url);
});
afterAll(() => google.stop());
beforeEach(() => {
  google.requests.length = 0;
});

const named = (jobs: ConversionJob[]): ClaimedJob[] => jobs.map((job) => ({ ...job, conversionName: "seal" }));
const send = (jobs: ConversionJob[], signal = AbortSignal.timeout(20_000), connection = connectionOf({ fetchTimeoutMs: 10_000 })) =>
  sendBatch(
    { token: randomUUID(), gate: "CLOSED", jobs: named(jobs), credentialsVersion: 1 },
    { provider: googleAds(), providerKey: "google_ads", connection, signal, now: () => new Date() },
  );
const statusOf = ({ results }: { results: UploadResult[] }) => results.map(({ status }) => status);

// Guarantee: what Google took before the run's time was up is COMPLETED. Without it, on its last attempt such a row fails for good although
// Google counts it, and a later cancellation is never told.
test("the end of the run between two requests of a batch keeps what the first request decided", async () => {
  google.answer("events:ingest", { body: { requestId: "taken-1" } }, { isSilent: true });
  const other = "customers/1234567890/conversionActions/1006";
  const sent = await send([jobOf(1), jobOf(2, { conversionAction: other })], AbortSignal.timeout(800));
  expect(google.sent("events:ingest")).toHaveLength(2);
  expect(statusOf(sent)).toEqual(["COMPLETED", "RETRY"]);
});

// Guarantee: a wait that Google asks for is bounded: neither does a number too large for a date throw the batch away, nor is a site shut for years.
test.each([
  ["too large for a date", "9999999999999"],
  ["thirty years", String(30 * 365 * 86_400)],
])("a 429 with a Retry-After that is %s still gives every row a result, and a wait of at most a few days", async (_name, seconds) => {
  google.answer("events:ingest", { status: 429, headers: { "retry-after": seconds }, body: { error: { status: "RESOURCE_EXHAUSTED" } } });
  const { results, facts } = await send([jobOf(1)]);
  expect(results).toHaveLength(1);
  expect(Date.parse(facts.quotaUntil ?? "")).toBeLessThan(Date.now() + 7 * 86_400_000);
});

// Guarantee: twenty free waits last until Google's day is over.
test("a daily quota with a short retryDelay does not use up the free waits of a row before the day has ended", () => {
  const { isFree, retryAt } = quotaWait([
    { code: "RESOURCE_EXHAUSTED", message: "", index: null, quotaName: "RequestsPerDayPerProject", retryDelayMs: 30_000 },
  ]);
  expect(isFree).toBe(true);
  expect(20 * (Number(retryAt) - Date.now())).toBeGreaterThan(24 * 3_600_000);
});

// Guarantee: a good conversion is not given up because others of its batch are bad. What was never tried alone has not spent an attempt.
test("500 rows, 50 of them bad and not named: no good row is given up within its five attempts", async () => {
  const rows = Array.from({ length: 500 }, (_, number) => jobOf(number));
  const isBad = (orderId: unknown) => Number(String(orderId).slice(-8)) % 10 === 3;
  google.answer("events:ingest", ({ body }: SentRequest) =>
    (body.events ?? []).some(({ transactionId }) => isBad(transactionId))
      ? { status: 400, body: { error: { code: 400, status: "INVALID_ARGUMENT", message: "There was a problem with the request." } } }
      : { body: { requestId: randomUUID() } },
  );
  let open = rows;
  const spent = new Map(rows.map(({ id }) => [id, 0]));
  for (let run = 0; run < 5 && open.length > 0; run++) {
    const { results } = await send(open);
    for (const { id, isFreeWait } of results) spent.set(id, (spent.get(id) ?? 0) + (isFreeWait ? 0 : 1));
    const again = new Set(results.filter(({ status }) => status === "RETRY").map(({ id }) => id));
    open = open.filter(({ id }) => again.has(id));
  }
  const givenUp = open.filter(({ id, orderId }) => !isBad(orderId) && (spent.get(id) ?? 0) >= 5);
  expect(givenUp.length).toBe(0);
});

// Guarantee: a site that delivers by Data Manager does not stop delivering because the Ads API, which it needs for corrections only, refuses.
test.each([
  ["a version that is gone", 400, { requestError: "UNSUPPORTED_VERSION" }],
  ["a customer that is not found", 400, { requestError: "INVALID_CUSTOMER_ID" }],
])("a retraction that meets %s blocks no site that delivers by Data Manager", async (_name, status, errorCode) => {
  const failure = {
    "@type": "type.googleapis.com/google.ads.googleads.v26.errors.GoogleAdsFailure",
    errors: [{ errorCode, message: "no" }],
  };
  google.answer(":uploadConversionAdjustments", {
    status,
    body: { error: { code: status, status: "INVALID_ARGUMENT", details: [failure] } },
  });
  const { results, facts } = await send([jobOf(1, { kind: "RETRACT", via: "ads_api" })]);
  expect(facts.block).toBeUndefined();
  expect(results).toMatchObject([{ byHand: "NO_ADS_API_ACCESS" }]);
});

// Guarantee: an answer that a conversion is not there yet is an answer: it says nothing about the provider's health.
test("corrections that Google does not find yet do not count against the circuit", async () => {
  const error = {
    errorCode: { conversionAdjustmentUploadError: "CONVERSION_NOT_FOUND" },
    message: "not found",
    location: { fieldPathElements: [{ fieldName: "conversion_adjustments", index: 0 }] },
  };
  const failure = { "@type": "type.googleapis.com/google.ads.googleads.v26.errors.GoogleAdsFailure", errors: [error] };
  google.answer(":uploadConversionAdjustments", { body: { partialFailureError: { code: 3, details: [failure] }, results: [{}] } });
  const { facts } = await send([jobOf(1, { kind: "RETRACT", via: "ads_api" })]);
  expect(facts.outcome).toBe("definite");
});

// Guarantee: a message of Google is cut between characters, so that it can be stored. Half a character is refused by the database, and with it the batch.
test("a long message is not cut inside a character", async () => {
  const message = `${"x".repeat(499 - "UNPARSEABLE_GCLID: ".length)}😀 could not be decoded.`;
  const error = {
    errorCode: { conversionUploadError: "UNPARSEABLE_GCLID" },
    message,
    location: { fieldPathElements: [{ fieldName: "conversions", index: 0 }] },
  };
  const failure = { "@type": "type.googleapis.com/google.ads.googleads.v26.errors.GoogleAdsFailure", errors: [error] };
  google.answer(":uploadClickConversions", { body: { partialFailureError: { code: 3, details: [failure] }, results: [{}] } });
  const { results } = await send([jobOf(1, { via: "ads_api" })]);
  expect(results[0]?.message?.isWellFormed()).toBe(true);
});

// Guarantee: "Messages pass withoutSecrets and the log's redaction before they are stored" (docs/delivery.md) holds for the message of a block, too.
test("the message of a block shows no address", async () => {
  google.answer("events:ingest", {
    status: 403,
    body: { error: { status: "PERMISSION_DENIED", message: "mary.smith@customer.test has no access" } },
  });
  const { results, facts } = await send([jobOf(1)]);
  expect(results[0]?.message).not.toContain("mary.smith@");
  expect(facts.block?.message).not.toContain("mary.smith@");
});

// Guarantee: only a duplicate of our own order id is a success. Another sale of the same click at the same second is not counted by Google.
test("a second sale of the same click and time that Google refuses is not called delivered", async () => {
  const error = {
    errorCode: { conversionUploadError: "CLICK_CONVERSION_ALREADY_EXISTS" },
    message: "A conversion with this click and time exists.",
    location: { fieldPathElements: [{ fieldName: "conversions", index: 1 }] },
  };
  const failure = { "@type": "type.googleapis.com/google.ads.googleads.v26.errors.GoogleAdsFailure", errors: [error] };
  google.answer(":uploadClickConversions", {
    body: { partialFailureError: { code: 3, details: [failure] }, results: [{ gclid: "same" }, {}] },
  });
  const sent = await send([jobOf(1, { via: "ads_api", gclid: "same" }), jobOf(2, { via: "ads_api", gclid: "same" })]);
  expect(statusOf(sent)).toEqual(["COMPLETED", "FAILED"]);
});

// Guarantee: a row that Google lists as taken is taken, whatever an error says that names no row, or one that is not there. Called failed, it would
// forget its conversion action and never be taken back.
test.each([
  ["names no row", undefined],
  ["names a row that is not there", { fieldPathElements: [{ fieldName: "conversions", index: 7 }] }],
])("an error that %s does not fail what Google took", async (_name, location) => {
  const error = { errorCode: { conversionUploadError: "UNPARSEABLE_GCLID" }, message: "no", ...(location && { location }) };
  const failure = { "@type": "type.googleapis.com/google.ads.googleads.v26.errors.GoogleAdsFailure", errors: [error] };
  google.answer(":uploadClickConversions", {
    body: { partialFailureError: { code: 3, details: [failure] }, results: [{ gclid: "taken" }, {}] },
  });
  const sent = await send([jobOf(1, { via: "ads_api" }), jobOf(2, { via: "ads_api" })]);
  expect(statusOf(sent)).toEqual(["COMPLETED", "FAILED"]);
});

// Guarantee: no secret reaches a row, in whatever spelling Google's JSON has it.
test("a secret that Google repeats with escaped characters is taken out", async () => {
  const { createServer } = await import("node:http");
  const { fetchJson } = await import("#lib/providers/google/fetch-json.ts");
  const server = createServer((_request, response) => response.writeHead(400).end('{"error":{"message":"bad token ya29.a\\u003db"}}'));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const answer = await fetchJson(`http://127.0.0.1:${port}/`, {}, {}, ["ya29.a=b"]);
  server.close();
  expect(JSON.stringify(answer.body)).not.toContain("ya29.a=b");
});
