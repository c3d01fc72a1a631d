import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import { ProviderRateLimitError, ProviderTransientError } from "#lib/providers/provider-error.ts";
import { connectionOf, type ScriptedGoogle, startScriptedGoogle, useGoogleEnv } from "#tests/support/scripted-google.ts";

let google: ScriptedGoogle;
beforeAll(async () => {
  google = await startScriptedGoogle();
  useGoogleEnv(google.url);
});
afterAll(() => google.stop());
beforeEach(() => {
  google.requests.length = 0;
});

interface Count {
  reason: string;
  recordCount?: string;
  recordIndices?: (string | number)[];
}

const read = (rowCount: number) => googleAds().readVerdicts({ requestId: "request 1", rowCount }, connectionOf());
function status(requestStatus: string, errorCounts?: Count[]) {
  const destination = { requestStatus, ...(errorCounts && { errorInfo: { errorCounts } }) };
  google.answer("requestStatus:retrieve", { body: { requestStatusPerDestination: [destination] } });
}
const named = (reason: string, ...recordIndices: (string | number)[]): Count => ({
  reason: `PROCESSING_ERROR_REASON_${reason}`,
  recordCount: String(recordIndices.length),
  recordIndices,
});
const rejected = (index: number, reason: string, retryable = false) => ({ index, verdict: "REJECTED", reason, retryable });

test("Google is asked by request id", async () => {
  status("PROCESSING");
  await read(1);
  expect(google.sent("requestStatus:retrieve").map(({ query }) => query.get("requestId"))).toEqual(["request 1"]);
});

test.each(["PROCESSING", "REQUEST_STATUS_UNKNOWN", "SOMETHING_NEW"])("%s decides nothing yet", async (name) => {
  status(name);
  expect(await read(2)).toEqual({ status: "PROCESSING", verdicts: [], rest: null });
});

test("SUCCESS confirms every row", async () => {
  status("SUCCESS");
  expect(await read(3)).toEqual({ status: "SUCCESS", verdicts: [], rest: "CONFIRMED" });
});

// Guarantee: each row gets its own verdict, and a row that Google counted twice over is not called rejected.
test("PARTIAL_SUCCESS by record index: rejected, duplicate and to be sent again", async () => {
  status("PARTIAL_SUCCESS", [named("INVALID_GCLID", "1"), named("DUPLICATE_TRANSACTION_ID", 2), named("TOO_RECENT_CLICK", "4", "3")]);
  expect(await read(6)).toEqual({
    status: "PARTIAL_SUCCESS",
    rest: "CONFIRMED",
    verdicts: [
      rejected(1, "INVALID_GCLID"),
      { index: 2, verdict: "DUPLICATE", reason: "DUPLICATE_TRANSACTION_ID", retryable: false },
      rejected(3, "TOO_RECENT_CLICK", true),
      rejected(4, "TOO_RECENT_CLICK", true),
    ],
  });
});

test("the shorter prefix, and a reason that nobody knows, which stays as Google wrote it", async () => {
  const mismatch = { reason: "PROCESSING_ERROR_OPERATING_ACCOUNT_MISMATCH_FOR_AD_IDENTIFIER", recordCount: "1", recordIndices: ["0"] };
  status("PARTIAL_SUCCESS", [mismatch, named("NEVER_SEEN_BEFORE", "1")]);
  expect((await read(3)).verdicts).toEqual([
    rejected(0, "OPERATING_ACCOUNT_MISMATCH_FOR_AD_IDENTIFIER"),
    rejected(1, "PROCESSING_ERROR_REASON_NEVER_SEEN_BEFORE", true),
  ]);
});

test("a row with several reasons keeps the lasting one, and a duplicate above all", async () => {
  status("PARTIAL_SUCCESS", [named("INTERNAL_ERROR", "0", "1"), named("EVENT_TOO_OLD", "0"), named("DUPLICATE_GCLID", "1")]);
  expect((await read(3)).verdicts).toMatchObject([rejected(0, "EVENT_TOO_OLD"), { index: 1, verdict: "DUPLICATE", byClick: true }]);
});

// Guarantee: nobody is told "confirmed" on a guess. Mutation: rest CONFIRMED whatever the counts say.
test.each([
  ["without indices", [{ reason: "PROCESSING_ERROR_REASON_INVALID_GCLID", recordCount: "2" }]],
  ["with fewer indices than rows", [{ reason: "PROCESSING_ERROR_REASON_INVALID_GCLID", recordCount: "2", recordIndices: ["0"] }]],
  ["without any error", []],
])("PARTIAL_SUCCESS %s leaves the rest unknown", async (_name, counts) => {
  status("PARTIAL_SUCCESS", counts);
  expect(await read(3)).toMatchObject({ status: "PARTIAL_SUCCESS", rest: "UNKNOWN" });
});

test("FAILED without indices rejects every row for its reason", async () => {
  status("FAILED", [{ reason: "PROCESSING_ERROR_REASON_INVALID_EVENT", recordCount: "2" }]);
  expect(await read(2)).toEqual({ status: "FAILED", rest: null, verdicts: [rejected(0, "INVALID_EVENT"), rejected(1, "INVALID_EVENT")] });
  status("FAILED");
  expect(await read(1)).toEqual({ status: "FAILED", rest: null, verdicts: [rejected(0, "UNKNOWN", true)] });
});

test("FAILED of duplicates alone is no failure, and mixed without indices nobody can say", async () => {
  const duplicates = { reason: "PROCESSING_ERROR_REASON_DUPLICATE_TRANSACTION_ID", recordCount: "1" };
  status("FAILED", [{ ...duplicates, recordCount: "2" }]);
  expect((await read(2)).verdicts).toMatchObject([{ verdict: "DUPLICATE" }, { verdict: "DUPLICATE" }]);
  status("FAILED", [duplicates, { reason: "PROCESSING_ERROR_REASON_INVALID_GCLID", recordCount: "1" }]);
  expect(await read(2)).toEqual({ status: "FAILED", verdicts: [], rest: "UNKNOWN" });
});

test("an index outside the request is nobody's, and leaves the rest unknown", async () => {
  status("PARTIAL_SUCCESS", [named("INVALID_GCLID", "7", "-1")]);
  expect(await read(2)).toEqual({ status: "PARTIAL_SUCCESS", verdicts: [], rest: "UNKNOWN" });
});

test("a request that Google does not know is lost, not rejected", async () => {
  const details = [
    { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [{ field: "request_id", reason: "INVALID_REQUEST_ID" }] },
  ];
  google.answer("requestStatus:retrieve", { status: 400, body: { error: { code: 400, status: "INVALID_ARGUMENT", details } } });
  expect(await read(2)).toEqual({ status: "LOST", verdicts: [], rest: "UNKNOWN" });
});

test("refused access asks for a block and decides nothing; 429 and 5xx throw", async () => {
  google.answer("requestStatus:retrieve", { status: 403, body: { error: { status: "PERMISSION_DENIED", message: "no" } } });
  expect(await read(2)).toEqual({ status: "PROCESSING", verdicts: [], rest: null, block: { code: "PERMISSION_DENIED", message: "no" } });
  google.answer("requestStatus:retrieve", { status: 429 });
  await expect(read(2)).rejects.toBeInstanceOf(ProviderRateLimitError);
  google.answer("requestStatus:retrieve", { status: 502 });
  await expect(read(2)).rejects.toBeInstanceOf(ProviderTransientError);
});
