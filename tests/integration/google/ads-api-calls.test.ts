import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { demoCustomerId } from "#scripts/local/google/accounts.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";

let google: Awaited<ReturnType<typeof startTestGoogle>>;
beforeEach(async () => {
  google = await startTestGoogle();
  await google.putAccount({ uploads: "allowed" });
});
afterEach(() => google.stop());

const action = `customers/${demoCustomerId}/conversionActions/1005`;
const adsTime = (minutesAgo: number) => `${new Date(Date.now() - minutesAgo * 60_000).toISOString().slice(0, 19).replace("T", " ")}+00:00`;
const conversion = (change: object = {}) => ({
  conversionAction: action,
  conversionDateTime: adsTime(600),
  conversionValue: 1500,
  currencyCode: "TRY",
  orderId: "seal_0001",
  gclid: "Cj0KCQ-a-click",
  ...change,
});
const upload = (conversions: object[], change: object = {}) =>
  google.adsApi(`${demoCustomerId}:uploadClickConversions`, { conversions, partialFailure: true, ...change });

describe("a call that is refused as a whole", () => {
  const failureOf = (body: { error: { details: { errors: object[]; requestId: string }[] } }) => body.error.details[0];
  test.each([
    ["partial failure is not asked for", { partialFailure: false }, { partialFailureError: "PARTIAL_FAILURE_MODE_REQUIRED" }],
    ["a job id of 0", { jobId: 0 }, { conversionUploadError: "INVALID_JOB_ID" }],
    ["2,001 rows", { conversions: Array.from({ length: 2001 }, () => ({})) }, { conversionUploadError: "TOO_MANY_CONVERSIONS_IN_REQUEST" }],
  ])("%s", async (_, change, errorCode) => {
    const { status, body } = await upload([conversion()], change);
    expect([status, body.error.status]).toEqual([400, "INVALID_ARGUMENT"]);
    expect(failureOf(body)).toMatchObject({ errors: [{ errorCode }], requestId: expect.any(String) });
  });

  test("a field of the wrong type", async () => {
    const { status, body } = await upload([conversion({ conversionValue: "1500" })]);
    expect(status).toBe(400);
    expect(body.error.details[0].fieldViolations).toMatchObject([{ field: "conversions[0].conversion_value" }]);
  });

  test("an API version that Google has ended, and one it does not have yet", async () => {
    const then = await startTestGoogle({ clock: () => Date.parse("2026-11-16T00:00:00Z") });
    const query = { query: "SELECT customer.id FROM customer" };
    const search = (version: string) =>
      then.authorized(`/googleads/${version}/customers/${demoCustomerId}/googleAds:search`, { body: query });
    const old = await search("v22");
    expect(old.status).toBe(400);
    expect(failureOf(old.body)).toMatchObject({ errors: [{ errorCode: { requestError: "UNSUPPORTED_VERSION" } }] });
    expect((await search("v27")).status).toBe(404);
    expect((await search("v25")).status).toBe(200);
    await then.advance(300 * 86_400);
    expect((await search("v25")).status).toBe(400);
    await then.stop();
  });

  test("tokens, accounts and managers", async () => {
    const path = `/googleads/v26/customers/${demoCustomerId}:uploadClickConversions`;
    const noToken = await google.send(path, { body: {} });
    expect(noToken.status).toBe(401);
    expect(failureOf(noToken.body)).toMatchObject({ errors: [{ errorCode: { authenticationError: "OAUTH_TOKEN_HEADER_INVALID" } }] });
    const dashed = await google.adsApi("123-456-7890:uploadClickConversions", {});
    expect(failureOf(dashed.body)).toMatchObject({ errors: [{ errorCode: { requestError: "INVALID_CUSTOMER_ID" } }] });
    const strange = await google.adsApi("5555555555:uploadClickConversions", {});
    expect([strange.status, failureOf(strange.body)]).toMatchObject([
      403,
      { errors: [{ errorCode: { authorizationError: "USER_PERMISSION_DENIED" } }] },
    ]);
    await google.putAccount({ managers: ["9999999999"], refreshTokens: [{ token: "1//via-manager", via: "9999999999" }] });
    const token = await google.token("1//via-manager");
    const body = { conversions: [conversion()], partialFailure: true };
    expect((await google.authorized(path, { body, token })).status).toBe(403);
    expect((await google.authorized(path, { body, token, headers: { "login-customer-id": "9999999999" } })).status).toBe(200);
    await google.putAccount({ isEnabled: false });
    const closed = await google.authorized(path, { body, token, headers: { "login-customer-id": "9999999999" } });
    expect(failureOf(closed.body)).toMatchObject({ errors: [{ errorCode: { authorizationError: "CUSTOMER_NOT_ENABLED" } }] });
  });
});

describe("search", () => {
  const search = (query: string, change: object = {}) => google.adsApi(`${demoCustomerId}/googleAds:search`, { query, ...change });

  test("conversion actions, with the fields asked for and no others", async () => {
    const { body } = await search(
      "SELECT conversion_action.id, conversion_action.name, conversion_action.counting_type FROM conversion_action WHERE conversion_action.status = 'ENABLED' AND conversion_action.type = UPLOAD_CLICKS",
    );
    expect(body.results).toHaveLength(5);
    expect(body.results[4]).toEqual({
      conversionAction: { resourceName: action, id: "1005", name: "OpsMantik_V5_DEMIR_MUHUR", countingType: "MANY_PER_CLICK" },
    });
    expect(body.fieldMask).toBe("conversionAction.id,conversionAction.name,conversionAction.countingType");
  });

  test("the account that holds its conversions", async () => {
    const { body } = await search("SELECT customer.conversion_tracking_setting.google_ads_conversion_customer FROM customer");
    expect(body.results).toEqual([
      {
        customer: {
          resourceName: `customers/${demoCustomerId}`,
          conversionTrackingSetting: { googleAdsConversionCustomer: `customers/${demoCustomerId}` },
        },
      },
    ]);
  });

  test("how uploads went, by job", async () => {
    await upload([conversion(), conversion({ orderId: "seal_0002", gclid: "nonsense" })], { jobId: 7 });
    const fields = ["client", "total_event_count", "successful_event_count", "job_summaries", "alerts"];
    const resource = "offline_conversion_upload_client_summary";
    const { body } = await search(`SELECT ${fields.map((field) => `${resource}.${field}`).join(", ")} FROM ${resource}`);
    expect(body.results).toMatchObject([
      {
        offlineConversionUploadClientSummary: {
          client: "GOOGLE_ADS_API",
          totalEventCount: "2",
          successfulEventCount: "1",
          jobSummaries: [{ jobId: "7", successfulCount: "1", failedCount: "1" }],
          alerts: [{ error: { conversionUploadError: "UNPARSEABLE_GCLID" }, errorPercentage: 0.5 }],
        },
      },
    ]);
  });

  test("a field that does not exist, a page size, a broken query", async () => {
    const codeOf = (body: { error: { details: { errors: { errorCode: object }[] }[] } }) => body.error.details[0]?.errors[0]?.errorCode;
    expect(codeOf((await search("SELECT conversion_action.label FROM conversion_action")).body)).toEqual({
      queryError: "UNRECOGNIZED_FIELD",
    });
    const sized = await search("SELECT conversion_action.id FROM conversion_action", { pageSize: 10 });
    expect(codeOf(sized.body)).toEqual({ requestError: "PAGE_SIZE_NOT_SUPPORTED" });
    expect(codeOf((await search("SELECT")).body)).toEqual({ queryError: "UNEXPECTED_END_OF_QUERY" });
  });
});
