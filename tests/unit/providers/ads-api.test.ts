import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
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
const failure = (errors: object[]) => ({
  "@type": "type.googleapis.com/google.ads.googleads.v26.errors.GoogleAdsFailure",
  errors,
  requestId: "failure-request-1",
});
const refused = (status: number, errors: object[]) => ({
  status,
  body: { error: { code: status, status: "X", message: "no", details: [failure(errors)] } },
});

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
    const site = adsSite({ fetchTimeoutMs: 60_000 });
    google.answer(":uploadClickConversions", all);
    await upload(jobs(1), site); // from here on its token is known, which would have to come within the timeout, too
    google.answer(":uploadClickConversions", { isSilent: true });
    await expect(upload(jobs(1), { ...site, fetchTimeoutMs: 50 })).rejects.toMatchObject({
      name: "ProviderTransientError",
      code: "TIMEOUT",
    });
    const asked = uploads().length;
    const end = new AbortController();
    const waiting = provider.uploadConversions(jobs(1), site, end.signal);
    while (uploads().length === asked) await new Promise(setImmediate);
    end.abort();
    await expect(waiting).rejects.toBeInstanceOf(ProviderTransientError);
  });

  test("the runbook's header for the request id is still read", async () => {
    google.answer(":uploadClickConversions", (request) => ({ ...all(request), headers: { "x-goog-request-id": "older-name" } }));
    expect((await upload(jobs(1))).results).toMatchObject([{ requestId: "older-name" }]);
  });
});
