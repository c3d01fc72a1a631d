import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { demoCustomerId } from "#scripts/local/google/accounts.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";

let google: Awaited<ReturnType<typeof startTestGoogle>>;
beforeEach(async () => {
  google = await startTestGoogle();
  await google.putAccount({ uploads: "allowed" });
});
afterEach(() => google.stop());

const time = new Date(Date.now() - 36_000_000);
const ingest = (ids: string[]) =>
  google.ingest({
    destinations: [{ operatingAccount: { accountType: "GOOGLE_ADS", accountId: demoCustomerId }, productDestinationId: "1005" }],
    events: ids.map((transactionId) => ({
      transactionId,
      eventTimestamp: time.toISOString(),
      eventSource: "PHONE",
      conversionValue: 1500,
      currency: "TRY",
      adIdentifiers: { gclid: `Cj0KCQ-${transactionId}` },
    })),
  });
const upload = (ids: string[]) =>
  google.adsApi(`${demoCustomerId}:uploadClickConversions`, {
    conversions: ids.map((orderId) => ({
      conversionAction: `customers/${demoCustomerId}/conversionActions/1005`,
      conversionDateTime: `${time.toISOString().slice(0, 19).replace("T", " ")}+00:00`,
      conversionValue: 1500,
      currencyCode: "TRY",
      orderId,
      gclid: `Cj0KCQ-${orderId}`,
    })),
    partialFailure: true,
  });
const dataManager = { service: "data_manager", method: "ingest" };
const orderIds = async () => (await google.conversions()).map(({ orderId }) => orderId);

describe("a scripted status", () => {
  test("a quota of Data Manager names its limit and the wait", async () => {
    await google.addFault({ match: dataManager, kind: "status", status: 429, retryDelay: "30s" });
    const { status, body } = await ingest(["seal_1"]);
    expect(status).toBe(429);
    expect(body.error).toMatchObject({
      status: "RESOURCE_EXHAUSTED",
      details: [
        { reason: "RATE_LIMIT_EXCEEDED", metadata: { quota_limit: "MutateRequestsPerMinutePerProject" } },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "30s" },
      ],
    });
    expect((await ingest(["seal_1"])).status).toBe(200);
  });

  test("a quota of the Ads API names its scope and the wait", async () => {
    await google.addFault({
      match: { service: "ads_api" },
      kind: "status",
      status: 429,
      retryDelay: "40591s",
      rateScope: "DEVELOPER",
      isDaily: true,
    });
    const { status, body } = await upload(["seal_1"]);
    expect(status).toBe(429);
    expect(body.error.details[0].errors[0]).toMatchObject({
      errorCode: { quotaError: "RESOURCE_EXHAUSTED" },
      details: { quotaErrorDetails: { rateScope: "DEVELOPER", rateName: expect.any(String), retryDelay: "40591s" } },
    });
  });

  test.each([500, 503, 504])("%i meets as many calls as it was told, after the calls it was told to spare", async (status) => {
    await google.addFault({ match: dataManager, kind: "status", status, times: 2, after: 1 });
    const statuses: number[] = [];
    for (const id of ["a", "b", "c", "d"]) statuses.push((await ingest([`seal_${id}`])).status);
    expect(statuses).toEqual([200, status, status, 200]);
  });

  test("a code of the test's own, for one account only", async () => {
    const code = { authorizationError: "CUSTOMER_NOT_ENABLED" };
    await google.addFault({ match: { service: "ads_api", account: "5555555555" }, kind: "status", status: 403, code, times: null });
    expect((await upload(["seal_1"])).status).toBe(200);
    const { body } = await google.adsApi("5555555555:uploadClickConversions", {});
    expect(body.error.details[0].errors[0].errorCode).toEqual(code);
    await google.admin("DELETE", "/faults");
    expect((await google.adsApi("5555555555:uploadClickConversions", {})).body.error.details[0].errors[0].errorCode).toEqual({
      authorizationError: "USER_PERMISSION_DENIED",
    });
  });
});

// Guarantee: the worst case of delivery, done but never told, can be played.
test("a timeout after accepting counts the conversion and leaves the caller without an answer", async () => {
  await google.addFault({ match: dataManager, kind: "timeout_after_accept" });
  await expect(ingest(["seal_1"])).rejects.toThrow("fetch failed");
  await google.advance(1800);
  expect(await orderIds()).toEqual(["seal_1"]);
  const [sent] = (await google.log()).filter(({ method }) => method === "ingest");
  expect(sent).toMatchObject({ isAnswered: false, fault: "timeout_after_accept", status: 200, rows: [{ orderId: "seal_1", value: 1500 }] });
});

test("a timeout before that counts nothing", async () => {
  await google.addFault({ match: { service: "ads_api" }, kind: "timeout" });
  await expect(upload(["seal_1"])).rejects.toThrow("fetch failed");
  expect(await orderIds()).toEqual([]);
});

test("a slow answer and one that is cut in half are still done", async () => {
  await google.addFault({ match: { service: "ads_api" }, kind: "slow", delayMs: 1 });
  expect((await upload(["seal_1"])).status).toBe(200);
  await google.addFault({ match: { service: "ads_api" }, kind: "malformed" });
  await expect(upload(["seal_2"])).rejects.toThrow(SyntaxError);
  expect(await orderIds()).toEqual(["seal_1", "seal_2"]);
});

test("a partial failure lets the named rows fail, with codes that nobody knows yet", async () => {
  await google.addFault({
    match: { service: "ads_api" },
    kind: "partial",
    errors: [{ index: 1, code: { conversionUploadError: "OF_TOMORROW" } }],
  });
  const { body } = await upload(["seal_1", "seal_2"]);
  expect(body.partialFailureError.details[0].errors).toMatchObject([
    { errorCode: { conversionUploadError: "OF_TOMORROW" }, location: { fieldPathElements: [{ fieldName: "conversions", index: 1 }] } },
  ]);
  await google.addFault({ match: dataManager, kind: "partial", errors: [{ index: 0, reason: "PROCESSING_ERROR_REASON_OF_TOMORROW" }] });
  const accepted = await ingest(["seal_3", "seal_4"]);
  await google.advance(1800);
  expect((await google.requestStatus(accepted.body.requestId)).body.requestStatusPerDestination).toMatchObject([
    {
      requestStatus: "PARTIAL_SUCCESS",
      errorInfo: { errorCounts: [{ recordCount: "1", reason: "PROCESSING_ERROR_REASON_OF_TOMORROW", recordIndices: ["0"] }] },
    },
  ]);
  expect(await orderIds()).toEqual(["seal_1", "seal_4"]);
});

test("a revoked grant is said in each service's own way", async () => {
  const token = await google.token();
  await google.addFault({ match: {}, kind: "revoked", times: 3 });
  expect((await google.ingest({}, token)).body.error.status).toBe("UNAUTHENTICATED");
  const ads = await google.authorized(`/googleads/v26/customers/${demoCustomerId}:uploadClickConversions`, { body: {}, token });
  expect([ads.status, ads.body.error.details[0].errors[0].errorCode]).toEqual([401, { authenticationError: "OAUTH_TOKEN_REVOKED" }]);
  expect(await google.token()).toBeUndefined();
});

test("a share of the calls fails, the same ones for the same seed", async () => {
  const run = async () => {
    await google.admin("DELETE", "/faults");
    await google.addFault({ match: dataManager, kind: "status", status: 503, times: null, probability: 0.5, seed: 7 });
    const statuses: number[] = [];
    for (let index = 0; index < 12; index++) statuses.push((await ingest([`seal_${index}`])).status);
    return statuses;
  };
  const first = await run();
  expect(new Set(first)).toEqual(new Set([200, 503]));
  expect(await run()).toEqual(first);
});

test("the log keeps every call in order and holds no secret", async () => {
  await ingest(["seal_1"]);
  const [first] = await google.log();
  await upload(["seal_2"]);
  const log = await google.log(first?.seq);
  expect(log.map(({ service, method, status }) => [service, method, status])).toEqual([
    ["data_manager", "ingest", 200],
    ["oauth", "token", 200],
    ["ads_api", "uploadClickConversions", 200],
  ]);
  expect(log[2]).toMatchObject({ accounts: [demoCustomerId], rows: [{ orderId: "seal_2", kind: "CONVERSION", outcome: "COUNTED" }] });
  expect(JSON.stringify(log)).not.toMatch(/ya29|1\/\/|secret/);
});

// Guarantee: a test that misspells its fault fails at once and does not pass for want of a fault.
test.each([
  ["/faults", { kind: "timout" }, "There is no fault timout"],
  ["/faults", { kind: "status", match: { service: "ads" } }, "There is no service ads"],
  ["/faults", { kind: "status", match: { method: "upload" } }, "There is no method upload"],
  ["/faults", { kind: "status", retryAfter: 1 }, "There is no retryAfter"],
  ["/settings", { processSeconds: 1 }, "There is no processSeconds"],
  ["/accounts", { customerId: demoCustomerId, allowlisted: true }, "There is no allowlisted"],
  ["/clock", { seconds: 1 }, "Give advanceSeconds"],
])("%s refuses %o", async (path, body, message) => {
  await expect(google.admin("POST", path, body)).rejects.toThrow(message);
});
