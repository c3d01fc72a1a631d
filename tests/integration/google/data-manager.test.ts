import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { demoCustomerId } from "#scripts/local/google/accounts.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";

let google: Awaited<ReturnType<typeof startTestGoogle>>;
beforeEach(async () => {
  google = await startTestGoogle();
});
afterEach(() => google.stop());

const hash = (text: string) => createHash("sha256").update(text).digest("hex");
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

async function ingested(events: object[]) {
  const answer = await google.ingest(request(events));
  expect(answer.status).toBe(200);
  await google.advance(1800);
  const [status] = (await google.requestStatus(answer.body.requestId)).body.requestStatusPerDestination;
  return status;
}

// Guarantee: whoever takes a 200 for a counted conversion is found out.
test("an accepted event is counted only after it was processed", async () => {
  const { body } = await google.ingest(request([event()]));
  expect((await google.requestStatus(body.requestId)).body.requestStatusPerDestination).toEqual([
    { destination, eventsIngestionStatus: { recordCount: "1" }, requestStatus: "PROCESSING" },
  ]);
  expect(await google.conversions()).toEqual([]);
  await google.advance(1800);
  expect((await google.requestStatus(body.requestId)).body.requestStatusPerDestination).toMatchObject([{ requestStatus: "SUCCESS" }]);
  expect(await google.conversions()).toMatchObject([
    { actionId: "1005", orderId: "seal_0001", value: 1500, currency: "TRY", via: "data_manager" },
  ]);
});

describe("fast fail: one bad event and none is taken", () => {
  test.each([
    ["no time", { eventTimestamp: undefined }, "event_timestamp", "REQUIRED_FIELD_MISSING"],
    ["a time to come", { eventTimestamp: minutesAgo(-600) }, "event_timestamp", "EVENT_TIME_INVALID"],
    ["no source", { eventSource: undefined }, "event_source", "REQUIRED_FIELD_MISSING"],
    ["no currency of this world", { currency: "TRL" }, "currency", "INVALID_CURRENCY_CODE"],
    ["a negative value", { conversionValue: -1 }, "conversion_value", "INVALID_NUMBER_FORMAT"],
    ["both braids", { adIdentifiers: { gbraid: "0AAAA-g", wbraid: "0AAAA-w" } }, "ad_identifiers", "INVALID_EVENT"],
    ["a bare number as id", { transactionId: "123456" }, "transaction_id", "INVALID_FORMAT"],
    ["an unknown destination", { destinationReferences: ["other"] }, "destination_references[0]", "INVALID_DESTINATION"],
    [
      "a phone number that is not hashed",
      { userData: { userIdentifiers: [{ phoneNumber: "+905551112233" }] } },
      "user_data.user_identifiers[0].phone_number",
      "INVALID_HEX_ENCODING",
    ],
    [
      "half a hash",
      { userData: { userIdentifiers: [{ emailAddress: hash("a").slice(0, 32) }] } },
      "user_data.user_identifiers[0].email_address",
      "INVALID_SHA256_FORMAT",
    ],
  ])("%s", async (_, change, field, reason) => {
    const { status, body } = await google.ingest(request([event(), event({ transactionId: "seal_0002", ...change })]));
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: 400, status: "INVALID_ARGUMENT" });
    const [info, requestInfo, badRequest] = body.error.details;
    expect(info).toMatchObject({
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: "INVALID_ARGUMENT",
      domain: "datamanager.googleapis.com",
    });
    expect(requestInfo).toMatchObject({ "@type": "type.googleapis.com/google.rpc.RequestInfo", requestId: expect.any(String) });
    expect(badRequest.fieldViolations).toMatchObject([{ field: `events.events[1].${field}`, reason }]);
    await google.advance(1800);
    expect(await google.conversions()).toEqual([]);
  });

  test("an event without any identifier is named as a whole", async () => {
    const { body } = await google.ingest(request([event({ adIdentifiers: {} })]));
    expect(body.error.details[2].fieldViolations).toMatchObject([{ field: "events.events[0]", reason: "NO_IDENTIFIERS_PROVIDED" }]);
  });

  test("user data needs an encoding", async () => {
    const { encoding: _, ...body } = request([event({ userData: { userIdentifiers: [{ phoneNumber: hash("a") }] } })]);
    expect((await google.ingest(body)).body.error.details[2].fieldViolations).toMatchObject([
      { field: "encoding", reason: "REQUIRED_FIELD_MISSING" },
    ]);
  });

  test("a conversion action by its resource name, or an unknown one", async () => {
    for (const productDestinationId of [`customers/${demoCustomerId}/conversionActions/1005`, "999"]) {
      const answer = await google.ingest(request([event()], { destinations: [{ ...destination, productDestinationId }] }));
      const violation = { field: "destinations.destinations[0].product_destination_id", reason: "INVALID_CONVERSION_ACTION_ID" };
      expect(answer.body.error.details[2].fieldViolations).toMatchObject([violation]);
    }
  });

  test("more than 2,000 events", async () => {
    const answer = await google.ingest(request(Array.from({ length: 2001 }, (_, index) => event({ transactionId: `seal_${index}` }))));
    expect(answer.body.error.details[2].fieldViolations).toMatchObject([{ field: "events", reason: "TOO_MANY_EVENTS" }]);
  });
});

// Guarantee: a field that Google does not have never seems to work.
test("a field that the definitions lack, like a retraction, is refused", async () => {
  const { status, body } = await google.ingest(request([event({ adjustmentType: "RETRACTION" })]));
  expect(status).toBe(400);
  expect(body.error.message).toContain(`Unknown name "adjustmentType" at 'events[0]': Cannot find field.`);
});

test("a dry run changes nothing, takes ids that a real one refuses, and has no status", async () => {
  const dry = await google.ingest(request([event({ transactionId: "42" })], { validateOnly: true }));
  expect(dry.status).toBe(200);
  const { status, body } = await google.requestStatus(dry.body.requestId);
  expect(status).toBe(400);
  expect(body.error.details[2].fieldViolations).toMatchObject([{ field: "request_id", reason: "INVALID_REQUEST_ID" }]);
  expect((await google.ingest(request([event({ transactionId: "42" })]))).status).toBe(400);
});

describe("verdicts", () => {
  test.each([
    ["an unreadable click id", { adIdentifiers: { gclid: "nonsense" } }, "INVALID_GCLID"],
    ["a gclid in the place of a braid", { adIdentifiers: { wbraid: "Cj0KCQ-a-click" } }, "INVALID_WBRAID"],
    ["a click too young", { adIdentifiers: { gclid: "Cj0KCQ-TooRecent" } }, "TOO_RECENT_CLICK"],
    ["a click too old", { adIdentifiers: { gclid: "Cj0KCQ-Expired" } }, "EVENT_TOO_OLD"],
    ["an event too old", { eventTimestamp: minutesAgo(91 * 1440) }, "EVENT_TOO_OLD"],
    ["a click of nobody", { adIdentifiers: { gbraid: "0AAAA-NotFound" } }, "CLICK_NOT_FOUND"],
    ["a click after its conversion", { adIdentifiers: { gclid: "Cj0KCQ-Precedes" } }, "CONVERSION_PRECEDES_CLICK"],
    ["a click of another account", { adIdentifiers: { gclid: "Cj0KCQ-OtherAccount" } }, "INVALID_OPERATING_ACCOUNT_FOR_CLICK"],
    [
      "user data against the person's will",
      { userData: { userIdentifiers: [{ phoneNumber: hash("a") }] }, consent: { adUserData: "CONSENT_DENIED" } },
      "DENIED_CONSENT",
    ],
  ])("%s", async (_, change, reason) => {
    const status = await ingested([event({ transactionId: "seal_good" }), event(change)]);
    expect(status).toMatchObject({
      requestStatus: "PARTIAL_SUCCESS",
      eventsIngestionStatus: { recordCount: "2" },
      errorInfo: { errorCounts: [{ recordCount: "1", reason: `PROCESSING_ERROR_REASON_${reason}`, recordIndices: ["1"] }] },
    });
    expect(await google.conversions()).toMatchObject([{ orderId: "seal_good" }]);
  });

  test("a young click is taken once it has its age", async () => {
    const young = event({ adIdentifiers: { gclid: "Cj0KCQ-TooRecent" } });
    expect(await ingested([young])).toMatchObject({ requestStatus: "FAILED" });
    await google.advance(6 * 3600);
    expect(await ingested([young])).toMatchObject({ requestStatus: "SUCCESS" });
  });

  test("an internal error passes", async () => {
    const unlucky = event({ adIdentifiers: { gclid: "Cj0KCQ-InternalOnce" } });
    expect(await ingested([unlucky])).toMatchObject({ errorInfo: { errorCounts: [{ reason: "PROCESSING_ERROR_REASON_INTERNAL_ERROR" }] } });
    expect(await ingested([unlucky])).toMatchObject({ requestStatus: "SUCCESS" });
  });

  test("terms, consent and one-per-click are settings of the account", async () => {
    const withData = event({ userData: { userIdentifiers: [{ phoneNumber: hash("a") }] } });
    await google.putAccount({ requiresConsent: true });
    expect(await ingested([withData])).toMatchObject({ errorInfo: { errorCounts: [{ reason: "PROCESSING_ERROR_REASON_NO_CONSENT" }] } });
    await google.putAccount({ termsAccepted: false });
    const notSigned = "PROCESSING_ERROR_REASON_DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED";
    expect(await ingested([withData])).toMatchObject({ errorInfo: { errorCounts: [{ reason: notSigned }] } });
    await google.putAccount({ conversionActions: [{ id: "1005", countingType: "ONE_PER_CLICK" }] });
    const onePerClick = "PROCESSING_ERROR_REASON_ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID";
    expect(await ingested([event({ adIdentifiers: { gbraid: "0AAAA-g" } })])).toMatchObject({
      errorInfo: { errorCounts: [{ reason: onePerClick }] },
    });
  });

  test("an account may name the rejected events by number, or not at all", async () => {
    await google.putAccount({ recordIndices: "number" });
    const bad = event({ adIdentifiers: { gclid: "nonsense" } });
    expect((await ingested([event(), bad])).errorInfo.errorCounts[0].recordIndices).toEqual([1]);
    await google.putAccount({ recordIndices: "none" });
    expect((await ingested([bad])).errorInfo.errorCounts[0]).not.toHaveProperty("recordIndices");
  });
});

// Guarantee: a second send never becomes a second conversion, and never a silent change.
describe("one order id is one conversion", () => {
  test("the same again is a duplicate, another value restates", async () => {
    await ingested([event()]);
    expect(await ingested([event()])).toMatchObject({
      requestStatus: "FAILED",
      errorInfo: { errorCounts: [{ reason: "PROCESSING_ERROR_REASON_DUPLICATE_TRANSACTION_ID" }] },
    });
    expect(await ingested([event({ conversionValue: 1800 })])).toMatchObject({ requestStatus: "SUCCESS" });
    expect(await google.conversions()).toMatchObject([{ orderId: "seal_0001", value: 1800, sends: 3 }]);
  });

  test("a value of 0 for an id that Google does not know is a new conversion, not a retraction", async () => {
    await ingested([event({ conversionValue: 0 })]);
    expect(await google.conversions()).toMatchObject([{ value: 0, isRetracted: false }]);
  });

  test("each conversion action counts for itself", async () => {
    await ingested([event()]);
    const { body } = await google.ingest(request([event()], { destinations: [{ ...destination, productDestinationId: "1004" }] }));
    await google.advance(1800);
    expect((await google.requestStatus(body.requestId)).body.requestStatusPerDestination).toMatchObject([{ requestStatus: "SUCCESS" }]);
    expect(await google.conversions()).toHaveLength(2);
  });
});
