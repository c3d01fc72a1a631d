import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import { ProviderRateLimitError, ProviderTransientError } from "#lib/providers/provider-error.ts";
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

const ingests = () => google.sent("events:ingest");
const orderIds = ({ body }: SentRequest) => (body.events ?? []).map(({ transactionId }) => String(transactionId));
const jobs = (count: number) => Array.from({ length: count }, (_, number) => jobOf(number));
const idsOf = (results: { id: string; status: string }[], status: string) =>
  results.filter((result) => result.status === status).map(({ id }) => id);

const violation = (field: string, reason: string) => ({ field, reason, description: `${reason} at ${field}` });
/** A refusal as Data Manager writes it. */
function refusal(violations: object[], status = 400, reason = "INVALID_ARGUMENT") {
  const type = (name: string) => `type.googleapis.com/google.rpc.${name}`;
  const details = [
    { "@type": type("ErrorInfo"), reason, domain: "datamanager.googleapis.com" },
    { "@type": type("RequestInfo"), requestId: "refused-1" },
    ...(violations.length > 0 ? [{ "@type": type("BadRequest"), fieldViolations: violations }] : []),
  ];
  return {
    status,
    body: { error: { code: status, message: "There was a problem with the request.", status: "INVALID_ARGUMENT", details } },
  };
}

/** Refuses every request that holds one of these order ids, naming it or not; takes the others. */
function refusing(bad: readonly string[], isNamed: boolean) {
  let taken = 0;
  return (request: SentRequest) => {
    const found = orderIds(request).flatMap((orderId, index) => (bad.includes(orderId) ? [index] : []));
    if (found.length === 0) return { body: { requestId: `taken-${++taken}` } };
    return refusal(isNamed ? found.map((index) => violation(`events.events[${index}].event_timestamp`, "EVENT_TIME_INVALID")) : []);
  };
}

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

describe("one bad row makes Google refuse the whole request", () => {
  test("named rows fail with their code, the others are sent again and keep their new places", async () => {
    google.answer("events:ingest", refusing(["seal_00000001", "seal_00000003"], true));
    const { results, block } = await provider.uploadConversions(jobs(5), connectionOf());
    expect(ingests().map(orderIds)).toEqual([
      ["seal_00000000", "seal_00000001", "seal_00000002", "seal_00000003", "seal_00000004"],
      ["seal_00000000", "seal_00000002", "seal_00000004"],
    ]);
    expect(idsOf(results, "FAILED")).toEqual(["row-1", "row-3"]);
    expect(results.filter(({ status }) => status === "FAILED")).toMatchObject([
      { code: "EVENT_TIME_INVALID", category: "VALIDATION", requestId: "refused-1", field: "events.events[1].event_timestamp" },
      { code: "EVENT_TIME_INVALID" },
    ]);
    expect(results.filter(({ status }) => status === "COMPLETED").map(({ id, recordIndex }) => [id, recordIndex])).toEqual([
      ["row-0", 0],
      ["row-2", 1],
      ["row-4", 2],
    ]);
    expect(block).toBeUndefined();
  });

  // Guarantee: an unnamed bad row costs its own sale only, and nobody is sent twice.
  test("unnamed rows are found by halves", async () => {
    google.answer("events:ingest", refusing(["seal_00000005", "seal_00000099"], false));
    const { results } = await provider.uploadConversions(jobs(200), connectionOf());
    expect(idsOf(results, "FAILED")).toEqual(["row-5", "row-99"]);
    expect(idsOf(results, "COMPLETED")).toHaveLength(198);
    expect(new Set(results.map(({ id }) => id)).size).toBe(200);
    expect(ingests().length).toBeLessThan(40);
  });

  test("when every row is refused, the calls are bounded and what was not tried alone waits", async () => {
    google.answer("events:ingest", refusal([]));
    const { results } = await provider.uploadConversions(jobs(500), connectionOf());
    expect(ingests().length).toBeLessThanOrEqual(41);
    expect(new Set(results.map(({ id }) => id)).size).toBe(500);
    const waiting = results.filter(({ status }) => status === "RETRY");
    expect(waiting.length).toBeGreaterThan(400);
    for (const row of waiting) expect(row).toMatchObject({ category: "TRANSIENT", code: "REFUSED_WITH_OTHERS", isFreeWait: true });
    expect(waiting[0]?.message).toContain("INVALID_ARGUMENT");
  });

  // Guarantee: a good conversion is not given up because others of its batch are bad: what was never tried alone has not spent an attempt, and the
  // free waits last until all bad ones are found.
  test("500 rows, 50 of them bad and not named: every good row arrives, within its free waits", async () => {
    const isBad = (orderId: string) => Number(orderId.slice(-8)) % 10 === 3;
    let open = jobs(500);
    google.answer("events:ingest", refusing(open.map(({ orderId }) => orderId).filter(isBad), false));
    const arrived = new Set<string>();
    const attempts = new Map<string, number>();
    let runs = 0;
    for (; runs < 20 && open.length > 0; runs++) {
      const { results } = await provider.uploadConversions(open, connectionOf());
      for (const { id, isFreeWait } of results) attempts.set(id, (attempts.get(id) ?? 0) + (isFreeWait ? 0 : 1));
      for (const id of idsOf(results, "COMPLETED")) arrived.add(id);
      const again = idsOf(results, "RETRY");
      open = open.filter(({ id }) => again.includes(id));
    }
    expect(arrived.size).toBe(450);
    expect(Math.max(...attempts.values())).toBe(1);
  });

  test.each([
    ["destinations.destinations[0].product_destination_id", "INVALID_CONVERSION_ACTION_ID"],
    ["destinations.destinations[0].operating_account", "DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED"],
  ])("a fault of the conversion action fails its rows at once and blocks the action (%s)", async (field, reason) => {
    google.answer("events:ingest", refusal([violation(field, reason)]));
    const { results, block } = await provider.uploadConversions(jobs(3), connectionOf());
    expect(ingests()).toHaveLength(1);
    for (const result of results)
      expect(result).toMatchObject({ status: "FAILED", category: "VALIDATION", code: reason, blocksAction: true });
    expect(block).toBeUndefined();
  });

  // Guarantee: what Google took before a failure is never sent again as new. Mutation: throw away the results of earlier batches.
  test.each([
    ["a 503", { status: 503 }, ProviderTransientError],
    ["a cut connection", { isCut: true }, ProviderTransientError],
    ["an ordinary 429", refusal([], 429, "RATE_LIMIT_EXCEEDED"), ProviderRateLimitError],
  ])("%s after earlier answers keeps them", async (_name, failure, kind) => {
    const refuse = refusing(["seal_00000001"], true);
    google.answer("events:ingest", refuse, failure);
    const first = jobOf(9, { conversionAction: "customers/1234567890/conversionActions/7", conversionTime: "never" });
    const error = await provider.uploadConversions([first, ...jobs(3)], connectionOf()).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(kind);
    expect(error.results.map(({ id, status }: { id: string; status: string }) => [id, status])).toEqual([
      ["row-9", "FAILED"],
      ["row-1", "FAILED"],
    ]);
  });

  // Guarantee: Data Manager that fails does not keep the Ads API's work from being recorded.
  test("a failure of one API carries what the other decided", async () => {
    google.answer("events:ingest", { status: 500 });
    google.answer(":uploadConversionAdjustments", { body: { results: [{ orderId: "x" }] }, headers: { "request-id": "ads-1" } });
    const error = await provider
      .uploadConversions([jobOf(1), jobOf(2, { kind: "RETRACT", via: "ads_api" })], connectionOf())
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ProviderTransientError);
    expect(error.results).toEqual([{ id: "row-2", status: "COMPLETED", transport: "ads_api", requestId: "ads-1" }]);
  });

  // Guarantee: what Data Manager took is recorded with its request, whatever goes wrong after it. Forgotten, its verdict would never be asked for.
  test.each([
    ["an answer that is no object", { text: "[]" }, {}],
    ["an answer that is a text", { text: '"ok"' }, {}],
    ["an error of ours", { body: {} }, { kind: "RESTATE", valueCents: 1n as never }],
  ] as const)("%s of the Ads API keeps what Data Manager took", async (_name, answer, given) => {
    google.answer("events:ingest", { body: { requestId: "taken-1" } });
    google.answer(":uploadConversionAdjustments", answer);
    const retract = jobOf(2, { kind: "RETRACT", via: "ads_api", ...given });
    const error = await provider.uploadConversions([jobOf(1), retract], connectionOf()).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ProviderTransientError);
    expect(error.results).toMatchObject([{ id: "row-1", status: "COMPLETED", requestId: "taken-1" }]);
  });

  test("an error of ours in a later request keeps what Google took before", async () => {
    google.answer("events:ingest", { body: { requestId: "taken-1" } });
    const later = {
      ...jobOf(2),
      get conversionAction(): string {
        if (google.sent("events:ingest").length > 0) throw new TypeError("not foreseen");
        return "customers/1234567890/conversionActions/7";
      },
    };
    const error = await provider.uploadConversions([jobOf(1), later], connectionOf()).catch((thrown) => thrown);
    expect(error).toMatchObject({ name: "ProviderTransientError", message: "TypeError: not foreseen", results: [{ id: "row-1" }] });
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
