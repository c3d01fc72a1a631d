import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { sunsetWarning, warnOfSunset } from "#lib/providers/google-ads/call-ads.ts";
import { jobIdOf } from "#lib/providers/google-ads/upload-rows.ts";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import type { ConversionJob, ProviderConnection } from "#lib/providers/port.ts";
import { ProviderRateLimitError, ProviderTransientError } from "#lib/providers/provider-error.ts";
import {
  connectionOf,
  jobOf,
  type ScriptedGoogle,
  type SentRequest,
  secrets,
  startScriptedGoogle,
  useGoogleEnv,
} from "#tests/support/scripted-google.ts";
import { stopClock } from "#tests/support/stop-clock.ts";

const provider = googleAds();
let google: ScriptedGoogle;
beforeAll(async () => {
  google = await startScriptedGoogle();
  useGoogleEnv(google.url);
});
afterAll(() => google.stop());
beforeEach(() => {
  google.requests.length = 0;
});
afterEach(() => vi.useRealTimers());

const adsJob = (number: number, given: Partial<ConversionJob> = {}) => jobOf(number, { via: "ads_api", ...given });
const jobs = (count: number, given: Partial<ConversionJob> = {}) => Array.from({ length: count }, (_, number) => adsJob(number, given));
const adsSite = (given: Partial<ProviderConnection> = {}, more: Partial<ProviderConnection["credentials"]> = {}) =>
  connectionOf(given, { transport: "ads_api", ...more });
const upload = (rows: ConversionJob[], connection = adsSite()) => provider.uploadConversions(rows, connection);
const uploads = () => google.sent(":uploadClickConversions");
const adjustments = () => google.sent(":uploadConversionAdjustments");

const taken = ({ body }: SentRequest) => (body.conversions ?? body.conversionAdjustments ?? []).map(({ orderId }) => ({ orderId }));
const all = (request: SentRequest) => ({
  body: { results: taken(request), jobId: "2147483648" },
  headers: { "request-id": "ads-request-1" },
});

type Place = { fieldName: string; index?: number }[];
const problem = (errorCode: Record<string, string>, fieldPathElements?: Place, details?: object) => ({
  errorCode,
  message: `about ${Object.values(errorCode)}`,
  ...(fieldPathElements && { location: { fieldPathElements } }),
  ...(details && { details }),
});
const uploadError = (code: string, index?: number) =>
  problem({ conversionUploadError: code }, [{ fieldName: "conversions", ...(index !== undefined && { index }) }, { fieldName: "gclid" }]);
const failure = (errors: object[]) => ({
  "@type": "type.googleapis.com/google.ads.googleads.v26.errors.GoogleAdsFailure",
  errors,
  requestId: "failure-request-1",
});
/** A 200 in which these rows failed. */
const partial = (errors: object[], failed: number[]) => (request: SentRequest) => ({
  body: {
    partialFailureError: { code: 3, message: "Multiple errors in 'details'.", details: [failure(errors)] },
    results: taken(request).map((row, index) => (failed.includes(index) ? {} : row)),
  },
});
const refused = (status: number, errors: object[]) => ({
  status,
  body: { error: { code: status, status: "X", message: "no", details: [failure(errors)] } },
});

/** What Google's front answers where no API is. */
const addressGone = { status: 404, text: "<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>" };

describe("what is sent", () => {
  test("a conversion, as the Ads API defines it", async () => {
    google.answer(":uploadClickConversions", all);
    const job = adsJob(1, { phoneHash: "a".repeat(64), emailHash: "b".repeat(64), consent: "GRANTED" });
    const connection = adsSite({ batchId: "claim-1" }, { login_customer_id: "9998887776", developer_token: secrets.developer_token });
    const { results } = await upload([job], connection);
    const [request] = uploads();
    expect(request?.path).toBe("/googleads/v26/customers/1234567890:uploadClickConversions");
    expect(request?.headers).toMatchObject({ "login-customer-id": "9998887776", "developer-token": secrets.developer_token });
    expect(request?.body).toEqual({
      conversions: [
        {
          conversionAction: "customers/1234567890/conversionActions/1005",
          conversionDateTime: "2026-11-16 14:03:22+03:00",
          conversionValue: 1500.5,
          currencyCode: "TRY",
          orderId: "seal_00000001",
          gclid: "Cj0KCQ_click_1",
          userIdentifiers: [
            { userIdentifierSource: "FIRST_PARTY", hashedPhoneNumber: "a".repeat(64) },
            { userIdentifierSource: "FIRST_PARTY", hashedEmail: "b".repeat(64) },
          ],
          consent: { adUserData: "GRANTED" },
        },
      ],
      partialFailure: true,
      validateOnly: false,
      jobId: jobIdOf("claim-1"),
    });
    expect(results).toEqual([{ id: "row-1", status: "COMPLETED", transport: "ads_api", requestId: "ads-request-1" }]);
  });

  test("without a manager and a developer token neither header is sent", async () => {
    google.answer(":uploadClickConversions", all);
    await upload([adsJob(1)]);
    expect(Object.keys(uploads()[0]?.headers ?? {})).not.toEqual(expect.arrayContaining(["login-customer-id"]));
    expect(uploads()[0]?.headers).not.toHaveProperty("developer-token");
    expect(uploads()[0]?.headers).not.toHaveProperty("login-customer-id");
  });

  test("corrections go by order id, with the value that now holds or as a retraction without one", async () => {
    stopClock(Date.parse("2026-11-17T09:00:00Z"));
    google.answer(":uploadConversionAdjustments", all);
    const { results } = await upload([adsJob(1, { kind: "RESTATE", valueCents: 99_00 }), adsJob(2, { kind: "RETRACT" })]);
    expect(adjustments()[0]?.body).toMatchObject({
      conversionAdjustments: [
        {
          conversionAction: "customers/1234567890/conversionActions/1005",
          adjustmentType: "RESTATEMENT",
          orderId: "seal_00000001",
          adjustmentDateTime: "2026-11-17 12:00:00+03:00",
          restatementValue: { adjustedValue: 99, currencyCode: "TRY" },
        },
        { adjustmentType: "RETRACTION", orderId: "seal_00000002", adjustmentDateTime: "2026-11-17 12:00:00+03:00" },
      ],
      partialFailure: true,
    });
    expect(adjustments()[0]?.body.conversionAdjustments?.[1]).not.toHaveProperty("restatementValue");
    expect(results).toMatchObject([{ status: "COMPLETED" }, { status: "COMPLETED" }]);
  });

  test("2,000 rows a request, conversions before corrections, no order id twice in one", async () => {
    google.answer(":uploadClickConversions", all);
    google.answer(":uploadConversionAdjustments", all);
    const corrections = [adsJob(9001, { kind: "RESTATE", orderId: "same" }), adsJob(9002, { kind: "RETRACT", orderId: "same" })];
    const { results } = await upload([...corrections, ...jobs(2_001)]);
    expect(google.requests.slice(1).map(({ body }) => (body.conversions ?? body.conversionAdjustments)?.length)).toEqual([2000, 1, 1, 1]);
    expect(new Set(results.map(({ id }) => id)).size).toBe(2_003);
  });

  test("a job id is the batch's own and one that Google takes", () => {
    const ids = Array.from({ length: 2_000 }, (_, number) => jobIdOf(`claim-${number}`));
    for (const id of ids) expect(id >= 1 && id < 2 ** 31 && Number.isInteger(id)).toBe(true);
    expect(jobIdOf("claim-1")).toBe(jobIdOf("claim-1"));
    expect(new Set(ids).size).toBe(2_000);
  });
});

describe("rows that fail inside a 200", () => {
  test("each error finds its row; a missing index is the first row", async () => {
    google.answer(":uploadClickConversions", partial([uploadError("UNPARSEABLE_GCLID"), uploadError("TOO_RECENT_EVENT", 2)], [0, 2]));
    const before = Date.now();
    const { results, block } = await upload(jobs(3));
    expect(results).toMatchObject([
      { id: "row-0", status: "FAILED", category: "VALIDATION", code: "UNPARSEABLE_GCLID", requestId: "failure-request-1" },
      { id: "row-1", status: "COMPLETED", requestId: "failure-request-1" },
      { id: "row-2", status: "RETRY", category: "TRANSIENT", code: "TOO_RECENT_EVENT", isFreeWait: true, field: "conversions[2].gclid" },
    ]);
    expect(results[2]?.retryAt?.getTime()).toBeGreaterThanOrEqual(before + 6 * 3_600_000);
    expect(block).toBeUndefined();
  });

  // Guarantee: with a passing and a lasting error the row is not sent five times for nothing.
  test("of several errors the worst decides, and all are told", async () => {
    google.answer(":uploadClickConversions", partial([uploadError("TOO_RECENT_EVENT", 0), uploadError("UNPARSEABLE_GCLID", 0)], [0]));
    const [result] = (await upload(jobs(1))).results;
    expect(result).toMatchObject({ status: "FAILED", code: "UNPARSEABLE_GCLID" });
    expect(result?.message).toContain("TOO_RECENT_EVENT");
  });

  // Guarantee: what Google holds under our order id is never called failed, so later corrections reach it.
  test("a duplicate of our own order id is success, whatever else is said", async () => {
    google.answer(":uploadClickConversions", partial([uploadError("EXPIRED_EVENT", 0), uploadError("ORDER_ID_ALREADY_IN_USE", 0)], [0]));
    expect((await upload(jobs(1))).results).toMatchObject([{ status: "COMPLETED", verdict: "DUPLICATE" }]);
  });

  // Guarantee: only what we sent before is a success. Another sale of the same click at the same second is not counted by Google.
  test("a click that is taken: success for a row that was handed out before, a failure for one that never was", async () => {
    const codes = [uploadError("CLICK_CONVERSION_ALREADY_EXISTS", 0), uploadError("CLICK_CONVERSION_ALREADY_EXISTS", 1)];
    google.answer(":uploadClickConversions", partial(codes, [0, 1]));
    const { results } = await upload([adsJob(1, { gclid: "same", mayHaveArrived: true }), adsJob(2, { gclid: "same" })]);
    expect(results).toMatchObject([
      { status: "COMPLETED", verdict: "DUPLICATE" },
      { status: "FAILED", category: "VALIDATION", code: "CLICK_CONVERSION_ALREADY_EXISTS" },
    ]);
  });

  test("an error without an index is everybody's", async () => {
    google.answer(":uploadClickConversions", partial([problem({ databaseError: "CONCURRENT_MODIFICATION" })], [0, 1]));
    expect((await upload(jobs(2))).results.map(({ status, code }) => [status, code])).toEqual([
      ["RETRY", "CONCURRENT_MODIFICATION"],
      ["RETRY", "CONCURRENT_MODIFICATION"],
    ]);
  });

  // Guarantee: a row that Google lists as taken is taken, whatever an error says that names no row, or one that is not there. Called failed, it
  // would forget its conversion action and never be taken back.
  test.each([
    ["names no row", undefined],
    ["names a row that is not there", [{ fieldName: "conversions", index: 7 }]],
  ])("an error that %s does not fail what Google took", async (_name, place) => {
    google.answer(":uploadClickConversions", partial([problem({ conversionUploadError: "UNPARSEABLE_GCLID" }, place)], [1]));
    expect((await upload(jobs(2))).results.map(({ status }) => status)).toEqual(["COMPLETED", "FAILED"]);
  });

  test.each([
    ["NO_CONVERSION_ACTION_FOUND", { conversionUploadError: "NO_CONVERSION_ACTION_FOUND" }],
    ["CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE", { notAllowlistedError: "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE" }],
  ])("%s fails its rows and blocks the action, not the site", async (code, errorCode) => {
    google.answer(":uploadClickConversions", partial([problem(errorCode, [{ fieldName: "conversions", index: 1 }])], [1]));
    const { results, block } = await upload(jobs(2));
    expect(results).toMatchObject([{ status: "COMPLETED" }, { status: "FAILED", category: "VALIDATION", code, blocksAction: true }]);
    expect(block).toBeUndefined();
  });

  test("an auth code blocks the site and fails its rows as AUTH", async () => {
    const denied = problem({ authorizationError: "USER_PERMISSION_DENIED" }, [{ fieldName: "conversions", index: 0 }]);
    google.answer(":uploadClickConversions", partial([denied], [0]));
    const { results, block } = await upload(jobs(2));
    expect(results).toMatchObject([{ status: "FAILED", category: "AUTH" }, { status: "COMPLETED" }]);
    expect(block).toMatchObject({ code: "USER_PERMISSION_DENIED" });
  });

  test("codes that nobody published, and codes that nobody knows, are kept raw and tried again", async () => {
    const errors = [
      problem({ internalError: "ERROR_CODE_NOT_PUBLISHED" }, [{ fieldName: "conversions", index: 0 }], {
        unpublishedErrorCode: "FUTURE_CODE",
      }),
      problem({ someNewError: "ANOTHER_CODE" }, [{ fieldName: "conversions", index: 1 }]),
    ];
    google.answer(":uploadClickConversions", partial(errors, [0, 1]));
    expect((await upload(jobs(2))).results).toMatchObject([
      { status: "RETRY", category: "TRANSIENT", code: "FUTURE_CODE" },
      { status: "RETRY", category: "TRANSIENT", code: "ANOTHER_CODE" },
    ]);
  });

  test("a row with its own quota waits as long as Google says", async () => {
    const details = { quotaErrorDetails: { rateScope: "ACCOUNT", rateName: "Requests", retryDelay: "1200s" } };
    const quota = problem({ quotaError: "RESOURCE_TEMPORARILY_EXHAUSTED" }, [{ fieldName: "conversions", index: 0 }], details);
    google.answer(":uploadClickConversions", partial([quota], [0]));
    expect((await upload(jobs(1))).results).toMatchObject([{ status: "RETRY", category: "RATE_LIMIT", isFreeWait: true }]);
  });

  // Guarantee: no silent success. Mutation: call every row without an error completed.
  test("a row that Google neither refuses nor lists as taken is tried again", async () => {
    google.answer(":uploadClickConversions", { body: { results: [{ orderId: "seal_00000000" }, {}] } });
    expect((await upload(jobs(2))).results).toMatchObject([{ status: "COMPLETED" }, { status: "RETRY", code: "UNKNOWN" }]);
    google.answer(":uploadClickConversions", { body: {} });
    expect((await upload(jobs(1))).results).toMatchObject([{ status: "RETRY" }]);
  });

  test("a person who matches no click is sent and done; with a click id it is a failure", async () => {
    google.answer(":uploadClickConversions", partial([uploadError("CLICK_NOT_FOUND", 0), uploadError("CLICK_NOT_FOUND", 1)], [0, 1]));
    const { results } = await upload([adsJob(0, { gclid: null, emailHash: "b".repeat(64) }), adsJob(1)]);
    expect(results).toMatchObject([{ status: "COMPLETED", code: "CLICK_NOT_FOUND" }, { status: "FAILED" }]);
    expect(results[0]?.verdict).toBeUndefined();
  });
});

describe("refused requests", () => {
  test("a 400 that names rows fails them and sends the others again", async () => {
    const bad = problem({ fieldError: "REQUIRED" }, [{ fieldName: "conversions", index: 1 }, { fieldName: "conversion_action" }]);
    google.answer(":uploadClickConversions", refused(400, [bad]), all);
    expect((await upload(jobs(3))).results.map(({ id, status }) => [id, status])).toEqual([
      ["row-1", "FAILED"],
      ["row-0", "COMPLETED"],
      ["row-2", "COMPLETED"],
    ]);
  });

  test("a 400 that names none fails every row that it is found in", async () => {
    google.answer(":uploadClickConversions", refused(400, [problem({ requestError: "BAD_RESOURCE_ID" })]));
    const { results } = await upload(jobs(2));
    expect(results).toMatchObject([{ status: "FAILED", category: "VALIDATION", code: "BAD_RESOURCE_ID" }, { status: "FAILED" }]);
  });

  test("an ordinary 429 throws; one for the day is a free wait", async () => {
    const quota = (rateName: string) =>
      problem({ quotaError: "RESOURCE_EXHAUSTED" }, undefined, { quotaErrorDetails: { rateScope: "DEVELOPER", rateName } });
    google.answer(":uploadClickConversions", refused(429, [quota("Requests per minute")]));
    await expect(upload(jobs(1))).rejects.toBeInstanceOf(ProviderRateLimitError);
    google.answer(":uploadClickConversions", refused(429, [quota("Number of operations for explorer access")]));
    const { results, quota: end } = await upload(jobs(1));
    expect(results).toMatchObject([{ status: "RETRY", category: "RATE_LIMIT", isFreeWait: true }]);
    expect(end).toEqual({ until: expect.any(Date), isShared: true });
  });

  test("silence ends with the timeout, and the caller's own end with the signal", async () => {
    google.answer(":uploadClickConversions", { isSilent: true });
    await expect(upload(jobs(1), adsSite({ fetchTimeoutMs: 50 }))).rejects.toMatchObject({
      name: "ProviderTransientError",
      code: "TIMEOUT",
    });
    const end = new AbortController();
    const waiting = provider.uploadConversions(jobs(1), adsSite({ fetchTimeoutMs: 60_000 }), end.signal);
    while (uploads().length < 2) await new Promise(setImmediate);
    end.abort();
    await expect(waiting).rejects.toBeInstanceOf(ProviderTransientError);
  });

  test("the runbook's header for the request id is still read", async () => {
    google.answer(":uploadClickConversions", (request) => ({ ...all(request), headers: { "x-goog-request-id": "older-name" } }));
    expect((await upload(jobs(1))).results).toMatchObject([{ requestId: "older-name" }]);
  });
});

describe("corrections without access", () => {
  const corrections = () => [adsJob(1, { kind: "RETRACT" }), adsJob(2, { kind: "RESTATE" })];
  const byHand = { status: "RETRY", byHand: "NO_ADS_API_ACCESS" };

  // Guarantee: what the Ads API refuses of a correction makes it work for a person. It stops neither a site that delivers by Data Manager nor one of
  // its actions: Data Manager says itself which actions it takes.
  test.each([
    ["a project that is not approved", refused(403, [problem({ authorizationError: "CLOUD_PROJECT_NOT_APPROVED_FOR_PRODUCTION" })])],
    ["an account that the Ads API does not show us", refused(403, [problem({ authorizationError: "USER_PERMISSION_DENIED" })])],
    [
      "a missing scope",
      { status: 403, body: { error: { status: "PERMISSION_DENIED", message: "Request had insufficient authentication scopes." } } },
    ],
    ["a version that is gone", refused(400, [problem({ requestError: "UNSUPPORTED_VERSION" })])],
    ["a version whose address is gone", addressGone],
    [
      "an action that the Ads API does not find",
      partial([problem({ conversionAdjustmentUploadError: "NO_CONVERSION_ACTION_FOUND" })], [0, 1]),
    ],
    ["an action of another type", partial([problem({ conversionAdjustmentUploadError: "INVALID_CONVERSION_ACTION_TYPE" })], [0, 1])],
    ["a customer that is not one", refused(400, [problem({ requestError: "INVALID_CUSTOMER_ID" })])],
    ["a customer that the Ads API does not find", refused(401, [problem({ authenticationError: "CUSTOMER_NOT_FOUND" })])],
    ["an account that is closed, inside a 200", partial([problem({ authorizationError: "CUSTOMER_NOT_ENABLED" })], [0, 1])],
    [
      "a method that is not open to the account",
      partial([problem({ notAllowlistedError: "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE" })], [0, 1]),
    ],
  ])("%s: by hand, no block", async (_name, answer) => {
    google.answer(":uploadConversionAdjustments", answer);
    const { results, block } = await upload(corrections(), connectionOf());
    expect(results).toMatchObject([byHand, byHand]);
    expect({ block, blocked: results.filter(({ blocksAction }) => blocksAction) }).toEqual({ block: undefined, blocked: [] });
  });

  // Guarantee: a token that is revoked stops the site, whichever API notices it first.
  test.each(["OAUTH_TOKEN_REVOKED", "OAUTH_TOKEN_INVALID"])("%s blocks a site that delivers by Data Manager, too", async (code) => {
    google.answer(":uploadConversionAdjustments", refused(401, [problem({ authenticationError: code })]));
    const { results, block } = await upload(corrections(), connectionOf());
    expect(results).toMatchObject([{ status: "FAILED", category: "AUTH" }, {}]);
    expect(block).toMatchObject({ code });
  });

  test("on a site that delivers by the Ads API a lost account blocks, a closed method does not", async () => {
    google.answer(":uploadConversionAdjustments", refused(403, [problem({ authorizationError: "USER_PERMISSION_DENIED" })]));
    expect(await upload(corrections())).toMatchObject({
      results: [{ status: "FAILED", category: "AUTH" }, {}],
      block: { code: "USER_PERMISSION_DENIED" },
    });
    google.answer(":uploadConversionAdjustments", refused(403, [problem({ authorizationError: "SERVICE_ACCESS_DENIED" })]));
    const { results, block } = await upload(corrections());
    expect(results).toMatchObject([byHand, byHand]);
    expect(block).toBeUndefined();
  });

  test("what is retracted already is done; a correction of it is not", async () => {
    const gone = (index: number) =>
      problem({ conversionAdjustmentUploadError: "CONVERSION_ALREADY_RETRACTED" }, [{ fieldName: "conversion_adjustments", index }]);
    google.answer(":uploadConversionAdjustments", partial([gone(0), gone(1)], [0, 1]));
    expect((await upload(corrections())).results).toMatchObject([
      { status: "COMPLETED", verdict: "DUPLICATE" },
      { status: "FAILED", category: "VALIDATION", code: "CONVERSION_ALREADY_RETRACTED" },
    ]);
  });

  test("a conversion that Google has not found yet is tried for a day, at the cost of attempts", async () => {
    const notFound = problem({ conversionAdjustmentUploadError: "CONVERSION_NOT_FOUND" }, [{ fieldName: "conversion_adjustments" }]);
    google.answer(":uploadConversionAdjustments", partial([notFound], [0]));
    const [result] = (await upload([adsJob(1, { kind: "RETRACT" })])).results;
    expect(result).toMatchObject({ status: "RETRY", category: "TRANSIENT", code: "CONVERSION_NOT_FOUND" });
    expect(result?.isFreeWait).toBeUndefined();
    expect(result?.retryAt?.getTime()).toBeGreaterThanOrEqual(Date.now() + 5.9 * 3_600_000);
  });
});

describe("the version", () => {
  // Guarantee: a version that Google has switched off stops a site that delivers by the Ads API until somebody acts. Tried again like a passing
  // fault, its whole backlog would have failed within the hour.
  test("that is switched off blocks the site, whichever way Google says it", async () => {
    for (const answer of [addressGone, refused(400, [problem({ requestError: "UNSUPPORTED_VERSION" })])]) {
      google.answer(":uploadClickConversions", answer);
      expect(await upload(jobs(2))).toMatchObject({
        block: { code: "UNSUPPORTED_VERSION" },
        results: [
          { status: "FAILED", category: "AUTH" },
          { status: "FAILED", category: "AUTH" },
        ],
      });
    }
  });

  test("warns three months before Google ends it, and of one that is gone", () => {
    expect(sunsetWarning("v26", new Date("2027-07-01"))).toBeNull();
    expect(sunsetWarning("v26", new Date("2027-09-01"))).toContain("2027-11-01");
    expect(sunsetWarning("v22", new Date("2026-11-17"))).toContain("has switched off version v22");
    expect(sunsetWarning("v27", new Date("2030-01-01"))).toBeNull();
  });

  test("is warned of once, not with every upload", async () => {
    const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    for (let call = 0; call < 3; call++) warnOfSunset("v23", new Date("2027-01-15"));
    await new Promise(setImmediate);
    const lines = write.mock.calls.map(([chunk]) => String(chunk)).join("");
    write.mockRestore();
    expect(lines.match(/GOOGLE_ADS_API_VERSION/g)).toHaveLength(1);
  });
});
