import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import { ProviderRateLimitError, ProviderTransientError } from "#lib/providers/provider-error.ts";
import { connectionOf, jobOf, type ScriptedGoogle, startScriptedGoogle, useGoogleEnv } from "#tests/support/scripted-google.ts";

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

const ingests = () => google.sent("events:ingest");
const jobs = (count: number) => Array.from({ length: count }, (_, number) => jobOf(number));

describe("what is sent", () => {
  beforeEach(() => google.answer("events:ingest", { body: { requestId: "request-1" } }));

  test("a phone lead with consent, as Data Manager defines it", async () => {
    const hash = "a".repeat(64);
    const job = jobOf(1, { phoneHash: hash, emailHash: "b".repeat(64), gbraid: "gbraid-1", wbraid: "wbraid-1", consent: "GRANTED" });
    await provider.uploadConversions([job], connectionOf({}, { login_customer_id: "9998887776" }));
    expect(ingests().map(({ body }) => body)).toEqual([
      {
        destinations: [
          {
            operatingAccount: { accountType: "GOOGLE_ADS", accountId: "1234567890" },
            loginAccount: { accountType: "GOOGLE_ADS", accountId: "9998887776" },
            productDestinationId: "1005",
          },
        ],
        events: [
          {
            transactionId: "seal_00000001",
            eventTimestamp: "2026-11-16T11:03:22Z",
            eventSource: "PHONE",
            conversionValue: 1500.5,
            currency: "TRY",
            adIdentifiers: { gclid: "Cj0KCQ_click_1", gbraid: "gbraid-1" },
            userData: { userIdentifiers: [{ phoneNumber: hash }, { emailAddress: "b".repeat(64) }] },
            consent: { adUserData: "CONSENT_GRANTED" },
          },
        ],
        encoding: "HEX",
        validateOnly: false,
      },
    ]);
  });

  test.each([
    ["phone", "PHONE"],
    ["whatsapp", "MESSAGE"],
    ["form", "WEB"],
    [null, "OTHER"],
  ] as const)("a lead by %s happened at %s", async (channel, eventSource) => {
    await provider.uploadConversions([jobOf(1, { channel })], connectionOf());
    expect(ingests()[0]?.body.events).toMatchObject([{ eventSource }]);
  });

  // Guarantee: without consent no hashed number leaves, whoever forgot to leave it out.
  test("without consent there is no phone and no consent field; a wbraid goes alone", async () => {
    await provider.uploadConversions([jobOf(1, { gclid: null, wbraid: "wbraid-1", phoneHash: "a".repeat(64) })], connectionOf());
    const [event] = ingests()[0]?.body.events ?? [];
    expect(event).toMatchObject({ adIdentifiers: { wbraid: "wbraid-1" } });
    expect(Object.keys(event ?? {})).not.toEqual(expect.arrayContaining(["userData", "consent"]));
    expect(event).not.toHaveProperty("userData");
    expect(event).not.toHaveProperty("consent");
  });

  test("a correction is the same event with its new value", async () => {
    await provider.uploadConversions([jobOf(7), jobOf(8, { kind: "RESTATE", orderId: "seal_00000007", valueCents: 5 })], connectionOf());
    expect(ingests().map(({ body }) => body.events?.map(({ transactionId, conversionValue }) => [transactionId, conversionValue]))).toEqual(
      [[["seal_00000007", 1500.5]], [["seal_00000007", 0.05]]],
    );
  });

  // Guarantee: a cancelled sale never becomes a conversion of 0 at Data Manager, which cannot take one back.
  test("a retraction never goes to Data Manager, whatever the row says", async () => {
    google.answer(":uploadConversionAdjustments", { body: { results: [{ orderId: "x" }] } });
    await provider.uploadConversions([jobOf(1, { kind: "RETRACT", via: "data_manager" })], connectionOf());
    expect(ingests()).toEqual([]);
    expect(google.sent(":uploadConversionAdjustments")).toHaveLength(1);
  });

  test("2,000 events a request, one conversion action each, and every row keeps its place", async () => {
    google.answer("events:ingest", ({ body }) => ({
      body: { requestId: `${body.destinations?.[0]?.productDestinationId}-${body.events?.length}` },
    }));
    const other = jobOf(9_999, { conversionAction: "customers/1234567890/conversionActions/7" });
    const { results } = await provider.uploadConversions([...jobs(2_001), other], connectionOf());
    expect(ingests().map(({ body }) => body.events?.length)).toEqual([2000, 1, 1]);
    expect(results.filter(({ requestId }) => requestId === "1005-2000").map(({ recordIndex }) => recordIndex)).toEqual([
      ...Array(2000).keys(),
    ]);
    expect(results.find(({ id }) => id === other.id)).toMatchObject({ requestId: "7-1", recordIndex: 0 });
  });

  // Guarantee: a row with an impossible time takes nobody with it and is never sent with another time.
  test("a time that cannot be written fails its own row", async () => {
    const { results } = await provider.uploadConversions([jobOf(1, { conversionTime: "never" }), jobOf(2)], connectionOf());
    expect(results).toMatchObject([
      { id: "row-1", status: "FAILED", category: "VALIDATION", code: "INVALID_CONVERSION_TIME" },
      { id: "row-2", status: "COMPLETED", recordIndex: 0 },
    ]);
  });

  test("a 200 without a request id, or cut in half, decides nothing", async () => {
    google.answer("events:ingest", { body: {} });
    await expect(provider.uploadConversions([jobOf(1)], connectionOf())).rejects.toBeInstanceOf(ProviderTransientError);
  });

  test("a dry run says so to Google", async () => {
    const { results } = await provider.validateConversion(jobOf(1), connectionOf());
    expect(ingests()[0]?.body.validateOnly).toBe(true);
    expect(results).toMatchObject([{ status: "COMPLETED" }]);
  });
});

describe("quota", () => {
  const quota = (metadata: Record<string, string>, retryDelay?: string) => ({
    status: 429,
    body: {
      error: {
        code: 429,
        status: "RESOURCE_EXHAUSTED",
        message: "Quota exceeded",
        details: [
          { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "RATE_LIMIT_EXCEEDED", metadata },
          ...(retryDelay ? [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }] : []),
        ],
      },
    },
  });
  const perMinute = { quota_limit: "MutateRequestsPerMinutePerProject" };
  const perDay = { quota_limit: "MutateRequestsPerDayPerProject" };

  test("an ordinary 429 throws and says when to come back", async () => {
    const before = Date.now();
    google.answer("events:ingest", quota(perMinute, "30s"));
    const error = await provider.uploadConversions(jobs(2), connectionOf()).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ProviderRateLimitError);
    expect(error.quota.until.getTime() - before).toBeGreaterThanOrEqual(30_000);
    expect(error.quota.until.getTime() - before).toBeLessThan(60_000);
  });

  // Guarantee: a used-up day costs no attempts, so a conversion is not given up because of it.
  test.each([
    ["a daily quota", quota(perDay), 6 * 3_600_000],
    ["a wait of ten minutes", quota(perMinute, "600s"), 600_000],
  ])("%s is a free wait for every row, sent or not", async (_name, answer, waitMs) => {
    const before = Date.now();
    google.answer("events:ingest", answer);
    const other = jobOf(9, { conversionAction: "customers/1234567890/conversionActions/7" });
    const { results, quota: end } = await provider.uploadConversions([...jobs(2), other], connectionOf());
    expect(ingests()).toHaveLength(1);
    for (const { status, category, isFreeWait, retryAt } of results) {
      expect({ status, category, isFreeWait }).toEqual({ status: "RETRY", category: "RATE_LIMIT", isFreeWait: true });
      expect(retryAt?.getTime()).toBeGreaterThanOrEqual(before + waitMs);
    }
    expect(results).toHaveLength(3);
    expect(end?.until.getTime()).toBeGreaterThanOrEqual(before + waitMs);
  });

  // Guarantee: a row's twenty free waits last until Google's day is over.
  test("a daily quota with a short retryDelay does not use up the free waits of a row before the day has ended", async () => {
    google.answer("events:ingest", quota(perDay, "30s"));
    const { results } = await provider.uploadConversions(jobs(1), connectionOf());
    expect(results).toMatchObject([{ isFreeWait: true }]);
    expect(20 * (Number(results[0]?.retryAt) - Date.now())).toBeGreaterThan(24 * 3_600_000);
  });
});
