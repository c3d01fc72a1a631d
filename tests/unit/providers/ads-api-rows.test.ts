import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import type { ConversionJob, ProviderConnection } from "#lib/providers/port.ts";
import {
  connectionOf,
  jobOf,
  type ScriptedGoogle,
  type SentRequest,
  startScriptedGoogle,
  useGoogleEnv,
} from "#tests/support/scripted-google.ts";

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

const taken = ({ body }: SentRequest) => (body.conversions ?? body.conversionAdjustments ?? []).map(({ orderId }) => ({ orderId }));

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
