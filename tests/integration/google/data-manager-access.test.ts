import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { demoCustomerId } from "#scripts/local/google/accounts.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";

let google: Awaited<ReturnType<typeof startTestGoogle>>;
beforeEach(async () => {
  google = await startTestGoogle();
});
afterEach(() => google.stop());
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const destination = {
  reference: "sale",
  operatingAccount: { accountType: "GOOGLE_ADS", accountId: demoCustomerId },
  productDestinationId: "1005",
};
const event = (change: object = {}) => ({
  destinationReferences: ["sale"],
  transactionId: "seal_0001",
  eventTimestamp: minutesAgo(600),
  eventSource: "PHONE",
  conversionValue: 1500,
  currency: "TRY",
  adIdentifiers: { gclid: "Cj0KCQ-a-click" },
  ...change,
});
const request = (events: object[], change: object = {}) => ({ destinations: [destination], events, encoding: "HEX", ...change });

describe("who may call", () => {
  test("no token, a broken one and one that ran out", async () => {
    const path = "/datamanager/v1/events:ingest";
    expect((await google.send(path, { body: request([event()]) })).body.error).toMatchObject({ code: 401, status: "UNAUTHENTICATED" });
    expect((await google.ingest(request([event()]), "ya29.nonsense")).status).toBe(401);
    const token = await google.token();
    await google.advance(3600);
    const late = await google.ingest(request([event()]), token);
    expect(late.body.error.details).toMatchObject([{ reason: "ACCESS_TOKEN_EXPIRED" }]);
  });

  test("an account that is not the caller's, or only through its manager", async () => {
    const other = { ...destination, operatingAccount: { accountType: "GOOGLE_ADS", accountId: "5555555555" } };
    const refused = await google.ingest(request([event()], { destinations: [other] }));
    expect(refused.status).toBe(403);
    expect(refused.body.error.details[0]).toMatchObject({ reason: "PERMISSION_DENIED", domain: "datamanager.googleapis.com" });
    await google.putAccount({
      customerId: "5555555555",
      managers: ["9999999999"],
      refreshTokens: [{ token: "1//via-manager", via: "9999999999" }],
    });
    const token = await google.token("1//via-manager");
    expect((await google.ingest(request([event()], { destinations: [other] }), token)).status).toBe(403);
    const loginAccount = { accountType: "GOOGLE_ADS", accountId: "9999999999" };
    const through = await google.ingest(request([event()], { destinations: [{ ...other, loginAccount }] }), token);
    expect(through.status).toBe(200);
    expect((await google.requestStatus(through.body.requestId)).status).toBe(403);
  });

  test("an account whose conversions live elsewhere", async () => {
    await google.putAccount({ conversionCustomerId: "9999999999" });
    const { body } = await google.ingest(request([event()]));
    expect(body.error.details[2].fieldViolations).toMatchObject([{ reason: "INVALID_DESTINATION" }]);
  });

  test("a grant without the scope", async () => {
    await google.putAccount({ refreshTokens: [{ token: "1//ads-only", scopes: ["https://www.googleapis.com/auth/adwords"] }] });
    const { status, body } = await google.ingest(request([event()]), await google.token("1//ads-only"));
    expect(status).toBe(403);
    expect(body.error.details).toMatchObject([{ reason: "ACCESS_TOKEN_SCOPE_INSUFFICIENT" }]);
  });
});
