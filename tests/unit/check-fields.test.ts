import { describe, expect, test } from "vitest";
import { checkFields, findFieldProblems } from "#lib/providers/check-fields.ts";
import published from "#lib/providers/google-fields.json" with { type: "json" };
import extra from "#lib/providers/google-fields-extra.json" with { type: "json" };

const ingest = "datamanager.IngestEventsRequest";
const upload = "googleads.services.UploadClickConversionsRequest";
const event = {
  destinationReferences: ["sale"],
  transactionId: "seal_7f3c",
  eventTimestamp: "2026-11-16T11:03:22Z",
  eventSource: "PHONE",
  conversionValue: 1500,
  currency: "TRY",
  adIdentifiers: { gclid: "Cj0KCQ" },
  userData: { userIdentifiers: [{ phoneNumber: "ab" }] },
  consent: { adUserData: "CONSENT_GRANTED" },
};
const destination = {
  reference: "sale",
  operatingAccount: { accountType: "GOOGLE_ADS", accountId: "1234567890" },
  productDestinationId: "456",
};
const ingestWith = (change: object) => ({ destinations: [destination], events: [{ ...event, ...change }], encoding: "HEX" });

describe("what Google documents passes", () => {
  test("an ingest request and its status", () => {
    expect(checkFields(ingest, ingestWith({}))).toEqual([]);
    const errorCounts = [{ recordCount: "1", reason: "PROCESSING_ERROR_REASON_TOO_RECENT_CLICK", recordIndices: ["0"] }];
    const status = { requestStatus: "PARTIAL_SUCCESS", errorInfo: { errorCounts }, eventsIngestionStatus: { recordCount: "2" } };
    expect(checkFields("datamanager.RetrieveRequestStatusResponse", { requestStatusPerDestination: [status] })).toEqual([]);
  });

  test("an upload request and a partial failure of it", () => {
    const conversion = { gclid: "Cj0KCQ", conversionAction: "customers/1/conversionActions/2", conversionValue: 1500.5, orderId: "seal_1" };
    expect(checkFields(upload, { conversions: [conversion], partialFailure: true, jobId: 7 })).toEqual([]);
    const location = { fieldPathElements: [{ fieldName: "conversions", index: 0 }, { fieldName: "gclid" }] };
    const failure = {
      "@type": "type.googleapis.com/google.ads.googleads.v26.errors.GoogleAdsFailure",
      errors: [{ errorCode: { conversionUploadError: "UNPARSEABLE_GCLID" }, message: "…", location }],
      requestId: "r",
    };
    const answer = { partialFailureError: { code: 3, message: "…", details: [failure] }, results: [{}], jobId: "7" };
    expect(checkFields("googleads.services.UploadClickConversionsResponse", answer)).toEqual([]);
  });
});

// Guarantee: a payload that Google would refuse, or read as something else, never passes our own tests.
describe("what Google's definitions do not hold is named", () => {
  test.each([
    ["a value as text", ingestWith({ conversionValue: "1500" }), "events[0].conversionValue: wrong type, expected double"],
    ["a snake_case name", ingestWith({ transaction_id: "x" }), "events[0].transaction_id: unknown field"],
    [
      "a retraction, which Data Manager does not have",
      ingestWith({ adjustmentType: "RETRACTION" }),
      "events[0].adjustmentType: unknown field",
    ],
    ["an event source of no such name", ingestWith({ eventSource: "WHATSAPP" }), "events[0].eventSource: unknown value"],
    ["a time without a zone", ingestWith({ eventTimestamp: "2026-11-16 11:03:22" }), "events[0].eventTimestamp: wrong type"],
    ["a time that does not exist", ingestWith({ eventTimestamp: "2026-13-16T11:03:22Z" }), "events[0].eventTimestamp: wrong type"],
    [
      "two identifiers in one",
      ingestWith({ userData: { userIdentifiers: [{ phoneNumber: "a", emailAddress: "b" }] } }),
      "events[0].userData.userIdentifiers[0]: one of",
    ],
    ["one event in place of a list", { events: event }, "events: wrong type"],
    ["nothing", undefined, `${ingest}: wrong type`],
  ])("%s", (_, json, problem) => {
    expect(checkFields(ingest, json)).toEqual([expect.stringContaining(problem)]);
  });

  test("an int64 is text and an int32 a number", () => {
    expect(checkFields(upload, { jobId: "7" })).toEqual([expect.stringContaining("jobId: wrong type, expected int32")]);
    const answer = "googleads.services.UploadClickConversionsResponse";
    expect(checkFields(answer, { jobId: 7 })).toEqual([expect.stringContaining("jobId: wrong type, expected int64")]);
  });

  test("a detail that carries an unknown error code", () => {
    const errors = [{ errorCode: { conversionUploadError: "INVALID_GCLID" } }];
    const details = [{ "@type": "type.googleapis.com/google.ads.googleads.v26.errors.GoogleAdsFailure", errors }];
    const problems = findFieldProblems("rest.Error", { error: { code: 400, message: "", status: "INVALID_ARGUMENT", details } });
    expect(problems).toMatchObject([{ path: "error.details[0].errors[0].errorCode.conversionUploadError", kind: "unknown value" }]);
  });

  test("a message that is not in the table is a mistake of the test, not a pass", () => {
    expect(() => checkFields("datamanager.Evnt", {})).toThrow("has no datamanager.Evnt");
  });
});

// Guarantee: what a newer package brings is not also kept by hand, where it could go stale.
test("the hand-written part repeats nothing of the extracted one", () => {
  const messages: Record<string, Record<string, string>> = published.messages;
  const enums: Record<string, string[]> = published.enums;
  expect(extra.fields.filter(({ message, field }) => messages[message]?.[field])).toEqual([]);
  expect(extra.messages.filter(({ message }) => messages[message])).toEqual([]);
  expect(extra.enumValues.flatMap(({ enum: name, values }) => values.filter((value) => enums[name]?.includes(value)))).toEqual([]);
  const types = [...Object.values(messages).flatMap((fields) => Object.values(fields)), ...extra.fields.map(({ type }) => type)];
  const named = types.map((type) => type.replace("[]", "")).filter((type) => type.includes("."));
  const added = extra.messages.map(({ message }) => message);
  expect(named.filter((type) => !messages[type] && !enums[type] && !added.includes(type))).toEqual([]);
});
