import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import type { ApiTransport, ProviderConnection } from "#lib/providers/port.ts";
import { demoClient } from "#scripts/local/google/accounts.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";
import { connectionOf, useGoogleEnv } from "#tests/support/scripted-google.ts";

const provider = googleAds();
let google: Awaited<ReturnType<typeof startTestGoogle>>;
let accounts = 0;
beforeAll(async () => {
  google = await startTestGoogle();
  useGoogleEnv(google.url);
});
afterAll(() => google.stop());

/** An account of its own for each test, where both ways are open, and a site connected to it. */
async function connect(transport: ApiTransport, account: object = {}, scopes?: string[]): Promise<ProviderConnection> {
  const customerId = String(2_000_000_000 + ++accounts);
  const token = `1//refresh-of-${customerId}`;
  await google.putAccount({ customerId, uploads: "allowed", refreshTokens: [{ token, ...(scopes && { scopes }) }], ...account });
  return connectionOf(
    { fetchTimeoutMs: 3_000 },
    {
      customer_id: customerId,
      client_id: demoClient.clientId,
      client_secret: demoClient.clientSecret,
      refresh_token: token,
      conversion_action_resource_name: `customers/${customerId}/conversionActions/1005`,
      transport,
    },
  );
}

describe("a connection test says what works and what does not", () => {
  const failing = async (connection: ProviderConnection) => {
    const { ok, checks, error } = await provider.testConnection(connection);
    return { ok, failed: checks.filter((check) => !check.ok).map(({ name, isRequired, code }) => ({ name, isRequired, code })), error };
  };
  const dataManagerScope = "https://www.googleapis.com/auth/datamanager";

  test("revoked credentials", async () => {
    const connection = await connect("data_manager", { refreshTokens: [] });
    expect(await failing(connection)).toMatchObject({ ok: false, failed: [{ name: "oauth", isRequired: true, code: "INVALID_GRANT" }] });
  });

  test("without the Ads API's scope a Data Manager site still delivers; corrections are work for a person", async () => {
    const code = "ACCESS_TOKEN_SCOPE_INSUFFICIENT";
    const closed = ["ads_api_scope", "ads_api", "ads_api_adjustments"].map((name) => ({ name, isRequired: false, code }));
    expect(await failing(await connect("data_manager", {}, [dataManagerScope]))).toEqual({ ok: true, failed: closed, error: undefined });
  });

  test("an Ads API site that Google has closed uploads to", async () => {
    const connection = await connect("ads_api", { uploads: "not_allowlisted" });
    const code = "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE";
    expect(await failing(connection)).toMatchObject({
      ok: false,
      failed: [{ name: "ads_api_upload", isRequired: true, code }],
      error: { code },
    });
  });

  test("a conversion action that is gone", async () => {
    const connection = await connect("data_manager", { conversionActions: [{ id: "1" }] });
    const { ok, failed } = await failing(connection);
    expect(ok).toBe(false);
    expect(failed[0]).toMatchObject({ name: "data_manager", code: "INVALID_CONVERSION_ACTION_ID" });
  });

  test("Google that does not answer is a finding, not a crash", async () => {
    const connection = await connect("data_manager");
    await google.addFault({
      match: { account: connection.credentials.customer_id, service: "data_manager" },
      times: null,
      kind: "status",
      status: 503,
    });
    expect(await failing(connection)).toMatchObject({ ok: false, failed: [{ name: "data_manager", code: "UNAVAILABLE" }] });
  });
});

describe("conversion actions", () => {
  test("are listed by name with what a choice needs", async () => {
    const connection = await connect("data_manager", {
      conversionActions: [
        { id: "2", name: "Zebra", countingType: "ONE_PER_CLICK" },
        { id: "1", name: "Ankara" },
        { id: "3", name: "Gone", status: "REMOVED" },
      ],
    });
    const action = (id: string) => `customers/${connection.credentials.customer_id}/conversionActions/${id}`;
    expect(await provider.listConversionActions(connection)).toEqual({
      actions: [
        { action: action("1"), name: "Ankara", type: "UPLOAD_CLICKS", countingType: "MANY_PER_CLICK", isEnabled: true },
        { action: action("2"), name: "Zebra", type: "UPLOAD_CLICKS", countingType: "ONE_PER_CLICK", isEnabled: true },
      ],
    });
  });

  test("that Google does not show come with the reason", async () => {
    const connection = await connect("data_manager", {}, ["https://www.googleapis.com/auth/datamanager"]);
    expect(await provider.listConversionActions(connection)).toMatchObject({
      actions: [],
      refused: { code: "ACCESS_TOKEN_SCOPE_INSUFFICIENT", message: expect.any(String) },
    });
  });
});
