import { afterAll, beforeAll, expect, test } from "vitest";
import en from "#lib/i18n/messages/en.json";
import { causeOf } from "#lib/oci/queue/causes.ts";
import { everyCase } from "#tests/support/every-case.ts";
import { ownCodes, scriptCodes } from "#tests/support/own-codes.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

// Guarantee: nobody who looks at a failed row reads a bare code: each says what happened, who can fix it and how.
test("every code that SQL, the worker, the export or the script can leave on a row has a cause of its own", async () => {
  const codes = [...(await ownCodes(db.sql)), ...scriptCodes()];
  for (const code of [
    "MANUAL_FAIL",
    "MAX_ATTEMPTS",
    "SALE_CANCELLED",
    "SUPERSEDED",
    "CLICK_EXPIRED",
    "UNKNOWN",
    "APPLY_FAILED",
    "MISSING_CLICK_ID",
    "CONCURRENCY_LIMIT",
    "VAULT_KEY_MISSING",
    "VAULT_KEY_MISMATCH",
  ])
    expect(codes, "the collector finds what is known to be written").toContain(code);
  const ofTests = ["PREVIEW_FAILED"]; // of a test conversion, which has no row; the setup page explains it
  expect(codes.filter((code) => code !== "UNKNOWN" && !ofTests.includes(code) && causeOf(code).name === "unknown")).toEqual([]);
});

// The list of facts about Google; a code that it answers and we do not know must be added to lib/oci/queue/causes.ts.
const googleCodes =
  `CLICK_CONVERSION_ALREADY_EXISTS ORDER_ID_ALREADY_IN_USE TOO_RECENT_EVENT TOO_RECENT_CONVERSION_ACTION TOO_RECENT_CALL INTERNAL_ERROR
  TRANSIENT_ERROR DEADLINE_EXCEEDED CONCURRENT_MODIFICATION RESOURCE_TEMPORARILY_EXHAUSTED RESOURCE_EXHAUSTED CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS
  CUSTOMER_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS NO_CONVERSION_ACTION_FOUND INVALID_CONVERSION_ACTION_TYPE INVALID_CUSTOMER_FOR_CLICK UNAUTHORIZED_CUSTOMER
  ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE CLOUD_PROJECT_NOT_APPROVED_FOR_PRODUCTION
  USER_PERMISSION_DENIED CUSTOMER_NOT_ENABLED OAUTH_TOKEN_REVOKED invalid_grant TWO_STEP_VERIFICATION_NOT_ENROLLED OAUTH_TOKEN_EXPIRED UNPARSEABLE_GCLID
  UNPARSEABLE_WBRAID UNPARSEABLE_GBRAID EXPIRED_EVENT CONVERSION_PRECEDES_EVENT EVENT_NOT_FOUND INVALID_USER_IDENTIFIER UNSUPPORTED_USER_IDENTIFIER
  GBRAID_WBRAID_BOTH_SET ORDER_ID_CONTAINS_PII CUSTOM_VARIABLE_VALUE_CONTAINS_PII CONVERSION_TRACKING_NOT_ENABLED_AT_IMPRESSION_TIME CLICK_NOT_FOUND
  DUPLICATE_ORDER_ID DUPLICATE_CLICK_CONVERSION_IN_REQUEST TOO_MANY_CONVERSIONS_IN_REQUEST RESTATEMENT_ALREADY_EXISTS MORE_RECENT_RESTATEMENT_FOUND
  CONVERSION_EXPIRED CONVERSION_ALREADY_RETRACTED CONVERSION_NOT_FOUND INVALID_ARGUMENT INVALID_GCLID RESOURCE_NOT_FOUND UNAVAILABLE RATE_LIMIT BACKEND_ERROR
  INVALID_STRING_DATE_TIME_SECONDS_WITH_OFFSET PROCESSING_ERROR_REASON_TOO_RECENT_CLICK PROCESSING_ERROR_REASON_INTERNAL_ERROR
  PROCESSING_ERROR_REASON_DUPLICATE_TRANSACTION_ID PROCESSING_ERROR_REASON_DUPLICATE_GCLID PROCESSING_ERROR_REASON_INVALID_GBRAID
  PROCESSING_ERROR_REASON_EVENT_TOO_OLD PROCESSING_ERROR_REASON_CONVERSION_PRECEDES_CLICK PROCESSING_ERROR_REASON_INVALID_CLICK
  PROCESSING_ERROR_REASON_INVALID_EVENT PROCESSING_ERROR_REASON_DENIED_CONSENT PROCESSING_ERROR_REASON_NO_CONSENT PROCESSING_ERROR_REASON_UNKNOWN_CONSENT
  PROCESSING_ERROR_REASON_INVALID_OPERATING_ACCOUNT_FOR_CLICK PROCESSING_ERROR_OPERATING_ACCOUNT_MISMATCH_FOR_AD_IDENTIFIER
  CIRCUIT_OPEN CONCURRENCY_LIMIT INVALID_TIME VALIDATION_FAILED`.split(/\s+/);

test("every code of Google has a cause, with words for what, who and how", () => {
  everyCase(googleCodes, (code) => {
    const { name, fixer, cure } = causeOf(code);
    expect(name).not.toBe("unknown");
    expect(en.causes[name]).toMatchObject({ what: expect.any(String), fix: expect.any(String) });
    expect([en.who[fixer], en.actions[cure]]).not.toContain(undefined);
  });
});

test("a code that nobody has met is unknown, not an error", () => {
  expect(causeOf("SOMETHING_NEW")).toEqual({ name: "unknown", fixer: "us", cure: "retry" });
});

// Guarantee: a script site has nothing to connect, so nobody there is told to.
test("no cause of a script site is fixed by connecting Google again", () => {
  everyCase(googleCodes, (code) => expect(causeOf(code, "script").cure).not.toBe("reconnect"));
});
