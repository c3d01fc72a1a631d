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
