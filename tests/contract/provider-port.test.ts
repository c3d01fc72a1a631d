/** One suite over both ways to Google, against the simulator: whoever sends, a worker meets the same outcomes. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import type { ApiTransport, ConversionJob, ProviderConnection } from "#lib/providers/port.ts";
import { ProviderRateLimitError, ProviderTransientError } from "#lib/providers/provider-error.ts";
import { demoClient } from "#scripts/local/google/accounts.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";
import { connectionOf, jobOf, useGoogleEnv } from "#tests/support/scripted-google.ts";

const provider = googleAds();
const minute = 60_000;
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

const ways = [
  { via: "data_manager", method: "ingest" },
  { via: "ads_api", method: "uploadClickConversions" },
] as const;

describe.each(ways)("conversions over $via", ({ via, method }) => {
  let connection: ProviderConnection;
  let account: string;
  let number = 0;
  beforeEach(async () => {
    connection = await connect(via);
    account = connection.credentials.customer_id;
    await google.admin("DELETE", "/faults");
  });

  const job = (given: Partial<ConversionJob> = {}) =>
    jobOf(++number, {
      via,
      conversionAction: connection.credentials.conversion_action_resource_name,
      conversionTime: new Date(Date.now() - 60 * minute).toISOString(),
      ...given,
    });
  const upload = (...jobs: ConversionJob[]) => provider.uploadConversions(jobs, connection);
  const fault = (given: object) => google.addFault({ match: { service: via, method, account }, times: null, ...given });
  /** What Google counts for this test's account, once it has processed everything. */
  async function counted() {
    await google.advance(3600);
    return (await google.conversions())
      .filter(({ customerId }) => customerId === account)
      .map(({ orderId, value, currency, isRetracted }) => ({ orderId, value, currency, isRetracted }));
  }
  const counts = ({ orderId, valueCents, currency }: ConversionJob) => ({ orderId, value: valueCents / 100, currency, isRetracted: false });

  test("rows with every kind of identifier are taken, each with a proof, and counted as sent", async () => {
    const hashes = { phoneHash: "a".repeat(64), emailHash: "b".repeat(64), consent: "GRANTED" } as const;
    const jobs = [
      job({ ...hashes, gbraid: "gbraid-0001" }),
      job({ gclid: null, wbraid: "wbraid-0001", channel: "whatsapp" }),
      job({ gclid: null, gbraid: "gbraid-0002", channel: "form", valueCents: 1 }),
      job({ gclid: null, ...hashes, channel: null, currency: "JPY", valueCents: 500_000 }),
    ];
    const { results, block } = await upload(...jobs);
    expect(results.map(({ id, status, transport }) => ({ id, status, transport }))).toEqual(
      jobs.map(({ id }) => ({ id, status: "COMPLETED", transport: via })),
    );
    for (const { requestId } of results) expect(requestId).toEqual(expect.any(String));
    expect(block).toBeUndefined();
    expect(await counted()).toEqual(jobs.map(counts));
  });

  // Guarantee: the same row sent twice is one conversion, and the second send is no failure.
  test("sent again it is counted once", async () => {
    const first = job();
    await upload(first);
    await counted();
    expect((await upload({ ...first, mayHaveArrived: true })).results).toMatchObject([{ status: "COMPLETED" }]);
    expect(await counted()).toEqual([counts(first)]);
  });

  describe("PR8A", () => {
    test("400: FAILED, VALIDATION, no retry", async () => {
      await fault({ kind: "status", status: 400, reason: "INVALID_ARGUMENT" });
      const { results, block } = await upload(job(), job());
      for (const result of results) expect(result).toMatchObject({ status: "FAILED", category: "VALIDATION", code: expect.any(String) });
      expect(results).toHaveLength(2);
      expect(block).toBeUndefined();
    });

    test.each([401, 403])("%i: FAILED, AUTH, and the site is blocked", async (status) => {
      await fault({ kind: "status", status, reason: "PERMISSION_DENIED" });
      const { results, block } = await upload(job(), job());
      for (const result of results) expect(result).toMatchObject({ status: "FAILED", category: "AUTH", code: block?.code });
      expect(results).toHaveLength(2);
      expect(block?.message).toEqual(expect.any(String));
    });

    test("401 once: a fresh token, and nobody notices", async () => {
      await fault({ kind: "status", status: 401, times: 1 });
      expect((await upload(job())).results).toMatchObject([{ status: "COMPLETED" }]);
    });

    test("429: ProviderRateLimitError with the time that Google names", async () => {
      await fault({ kind: "status", status: 429, retryDelay: "45s" });
      const before = Date.now();
      const error = await upload(job()).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(ProviderRateLimitError);
      expect(error.quota.until.getTime()).toBeGreaterThanOrEqual(before + 45_000);
      expect(error.quota.until.getTime()).toBeLessThanOrEqual(Date.now() + 49_500); // up to a tenth more
    });

    test.each([{ isDaily: true }, { retryDelay: "900s" }])("429 for longer (%j): a free wait", async (given) => {
      await fault({ kind: "status", status: 429, ...given });
      const { results, quota } = await upload(job());
      expect(results).toMatchObject([{ status: "RETRY", category: "RATE_LIMIT", isFreeWait: true, retryAt: expect.any(Date) }]);
      expect(quota?.until.getTime()).toBeGreaterThan(Date.now() + 10 * minute);
    });

    test.each([500, 502, 503, 504])("%i: ProviderTransientError", async (status) => {
      await fault({ kind: "status", status });
      await expect(upload(job())).rejects.toBeInstanceOf(ProviderTransientError);
    });

    test.each(["timeout", "timeout_after_accept", "malformed"])(
      "%s: ProviderTransientError, and a second try counts it once",
      async (kind) => {
        await fault({ kind, times: 1, delayMs: 50 });
        const first = job();
        await expect(upload(first)).rejects.toBeInstanceOf(ProviderTransientError);
        expect((await upload({ ...first, mayHaveArrived: true })).results).toMatchObject([{ status: "COMPLETED" }]);
        expect(await counted()).toEqual([counts(first)]);
      },
    );

    test("partial: the bad row fails by itself, the others are counted", async () => {
      const [good, bad, alsoGood] = [job(), job({ currency: "ZZZ" }), job()];
      const { results } = await upload(good, bad, alsoGood);
      const byId = new Map(results.map((result) => [result.id, result]));
      expect(byId.get(bad.id)).toMatchObject({ status: "FAILED", category: "VALIDATION" });
      expect([good, alsoGood].map(({ id }) => byId.get(id)?.status)).toEqual(["COMPLETED", "COMPLETED"]);
      expect(await counted()).toEqual([good, alsoGood].map(counts));
    });
  });

  // Guarantee: a revoked grant stops the site with "reconnect" and burns no more than the batch.
  test("revoked access is found behind the 401 and named invalid_grant", async () => {
    await upload(job());
    await google.putAccount({ customerId: account, refreshTokens: [] });
    const { results, block } = await upload(job());
    expect(results).toMatchObject([{ status: "FAILED", category: "AUTH", code: "INVALID_GRANT" }]);
    expect(block).toMatchObject({ code: "INVALID_GRANT" });
  });

  test("a conversion action that is not there fails its rows and blocks the action", async () => {
    const gone = job({ conversionAction: `customers/${account}/conversionActions/4040` });
    const { results, block } = await upload(gone);
    expect(results).toMatchObject([{ status: "FAILED", category: "VALIDATION", blocksAction: true }]);
    expect(block).toBeUndefined();
  });

  test("a dry run says what Google would say and leaves nothing behind", async () => {
    expect((await provider.validateConversion(job(), connection)).results).toMatchObject([{ status: "COMPLETED" }]);
    expect((await provider.validateConversion(job({ currency: "ZZZ" }), connection)).results).toMatchObject([{ status: "FAILED" }]);
    expect(await counted()).toEqual([]);
  });

  test("a corrected sale has its new value, a cancelled one is taken back", async () => {
    const [corrected, cancelled] = [job(), job()];
    await upload(corrected, cancelled);
    await counted();
    const changes = [
      { ...corrected, id: "restate", kind: "RESTATE", valueCents: 77_700 },
      { ...cancelled, id: "retract", kind: "RETRACT", via: "ads_api" },
    ] as const;
    expect((await upload(...changes)).results.map(({ status }) => status)).toEqual(["COMPLETED", "COMPLETED"]);
    expect(await counted()).toEqual([
      { ...counts(corrected), value: 777 },
      { ...counts(cancelled), isRetracted: true },
    ]);
    expect((await upload({ ...cancelled, id: "again", kind: "RETRACT", via: "ads_api" })).results).toMatchObject([
      { status: "COMPLETED", verdict: "DUPLICATE" },
    ]);
  });

  test("where the Ads API is closed to corrections, they become work for a person", async () => {
    for (const adjustments of ["denied", "not_allowlisted"]) {
      await google.putAccount({ customerId: account, adjustments });
      const { results, block } = await upload(job({ kind: "RETRACT", via: "ads_api" }));
      expect(results).toMatchObject([{ status: "RETRY", byHand: "NO_ADS_API_ACCESS" }]);
      expect(block).toBeUndefined();
    }
  });

  test("a connection where everything works passes every check and names the account", async () => {
    const { ok, checks, account: shown, error } = await provider.testConnection(connection);
    expect({ ok, failed: checks.filter((check) => !check.ok), error }).toEqual({ ok: true, failed: [], error: undefined });
    expect(shown).toEqual({ name: `Account ${account}`, currency: "TRY", timezone: "Europe/Istanbul", conversionCustomerId: account });
    expect(await counted()).toEqual([]);
  });
});

describe("verdicts of Data Manager", () => {
  test.each(["text", "number"])("each row gets its own, by record index as %s", async (recordIndices) => {
    const connection = await connect("data_manager", { recordIndices });
    const conversionAction = connection.credentials.conversion_action_resource_name;
    const rows = ["Cj0KCQ_fine", "Cj0KCQ_NotFound", "Cj0KCQ_TooRecent"].map((gclid, index) =>
      jobOf(9_000 + index, { conversionAction, gclid: `${gclid}_${recordIndices}`, conversionTime: new Date().toISOString() }),
    );
    const { results } = await provider.uploadConversions(rows, connection);
    const request = { requestId: results[0]?.requestId ?? "", rowCount: rows.length };
    expect(await provider.readVerdicts(request, connection)).toMatchObject({ status: "PROCESSING", rest: null });
    await google.advance(31 * 60);
    expect(await provider.readVerdicts(request, connection)).toEqual({
      status: "PARTIAL_SUCCESS",
      rest: "CONFIRMED",
      verdicts: [
        { index: 1, verdict: "REJECTED", reason: "CLICK_NOT_FOUND", retryable: false },
        { index: 2, verdict: "REJECTED", reason: "TOO_RECENT_CLICK", retryable: true },
      ],
    });
  });

  test("a request that Google never took is lost", async () => {
    const connection = await connect("data_manager");
    expect(await provider.readVerdicts({ requestId: "unknown", rowCount: 1 }, connection)).toEqual({
      status: "LOST",
      verdicts: [],
      rest: "UNKNOWN",
    });
  });
});
