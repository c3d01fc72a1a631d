import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { sunsetWarning, warnOfSunset } from "#lib/providers/google-ads/call-ads.ts";
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
