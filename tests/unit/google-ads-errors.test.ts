import { describe, expect, test } from "vitest";
import { causeOf } from "#lib/oci/queue/causes.ts";
import { classifyGoogleAdsError, isKnownCode, knownCodes } from "#lib/providers/google/classify-google-ads-error.ts";
import { everyCase } from "#tests/support/every-case.ts";

const statusOf = (code: string, httpStatus = 200) => classifyGoogleAdsError(code, httpStatus).status;

// Guarantee: nobody meets a code on a row that the screens cannot explain. Mutation: drop a code from causes.ts.
test("every known code has a cause that people can read", () => {
  everyCase(knownCodes, (code) => {
    expect(causeOf(code).name).not.toBe("unknown");
  });
});

// Guarantee: the screen never offers to wait for what a person has to fix, nor a fix for what passes by itself.
test("what the screen offers for a code fits what the worker does", () => {
  everyCase(knownCodes, (code) => {
    const rule = classifyGoogleAdsError(code, 200);
    const { fixer, cure } = causeOf(code);
    if (rule.blocksAccount || rule.blocksAction) expect(["owner", "us"]).toContain(fixer);
    if (rule.isFreeWait) expect({ fixer, cure }).toEqual({ fixer: "google", cure: "wait" });
    if (rule.isDuplicate) expect(fixer).toBe("nobody");
  });
});

/** The runbook's examples (PR8A), as they stand there. */
describe("the runbook's table", () => {
  test.each(["INVALID_ARGUMENT", "INVALID_GCLID", "UNPARSEABLE_GCLID", "RESOURCE_NOT_FOUND"])("%s fails the row", (code) => {
    expect(classifyGoogleAdsError(code, 200)).toMatchObject({ status: "FAILED", category: "VALIDATION" });
  });
  test.each(["RESOURCE_EXHAUSTED", "UNAVAILABLE", "DEADLINE_EXCEEDED", "RATE_LIMIT", "BACKEND_ERROR"])("%s is tried again", (code) => {
    expect(statusOf(code)).toBe("RETRY");
  });
  test("a 400 fails, a 401 and a 403 fail and block, a 429 is tried again, whatever code they carry", () => {
    expect(classifyGoogleAdsError("NEVER_SEEN", 400)).toEqual({ status: "FAILED", category: "VALIDATION" });
    for (const status of [401, 403])
      expect(classifyGoogleAdsError("NEVER_SEEN", status)).toMatchObject({ status: "FAILED", category: "AUTH", blocksAccount: true });
    expect(classifyGoogleAdsError("NEVER_SEEN", 429)).toMatchObject({ status: "RETRY", category: "RATE_LIMIT" });
  });
});

describe("where Google differs from the runbook", () => {
  test.each(["CLICK_CONVERSION_ALREADY_EXISTS", "ORDER_ID_ALREADY_IN_USE"])("%s is success: Google has it", (code) => {
    expect(classifyGoogleAdsError(code, 200)).toMatchObject({ status: "COMPLETED", isDuplicate: true });
  });
  test.each(["TOO_RECENT_EVENT", "TOO_RECENT_CONVERSION_ACTION", "TOO_RECENT_CALL"])("%s waits six hours for free", (code) => {
    expect(classifyGoogleAdsError(code, 200)).toMatchObject({ status: "RETRY", isFreeWait: true, waitHours: 6 });
  });
  test.each(["CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS", "NO_CONVERSION_ACTION_FOUND", "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE"])(
    "%s inside a 200 fails its rows and blocks the action, not the account",
    (code) => {
      const rule = classifyGoogleAdsError(code, 200);
      expect(rule).toMatchObject({ status: "FAILED", category: "VALIDATION", blocksAction: true });
      expect(rule.blocksAccount).toBeUndefined();
    },
  );
  test.each(["USER_PERMISSION_DENIED", "OAUTH_TOKEN_REVOKED", "CUSTOMER_NOT_ENABLED"])("%s inside a 200 blocks the account", (code) => {
    expect(classifyGoogleAdsError(code, 200)).toMatchObject({ status: "FAILED", category: "AUTH", blocksAccount: true });
  });
  // Guarantee: one click from another account does not stop a whole site.
  test.each(["INVALID_CUSTOMER_FOR_CLICK", "ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID"])(
    "%s is about its row only",
    (code) => {
      expect(classifyGoogleAdsError(code, 200)).toEqual({ status: "FAILED", category: "VALIDATION" });
    },
  );
  test("a code that nobody knows is tried again within the cap", () => {
    expect(classifyGoogleAdsError("BRAND_NEW_ERROR", 200)).toEqual({ status: "RETRY", category: "TRANSIENT" });
    expect(isKnownCode("BRAND_NEW_ERROR")).toBe(false);
  });
  test("in a family that says enough, a code that nobody knows means what its family means", () => {
    expect(classifyGoogleAdsError("BRAND_NEW", 200, "dateError")).toEqual({ status: "FAILED", category: "VALIDATION" });
    expect(classifyGoogleAdsError("BRAND_NEW", 200, "authorizationError")).toMatchObject({ category: "AUTH", blocksAccount: true });
    expect(classifyGoogleAdsError("BRAND_NEW", 200, "conversionUploadError")).toEqual({ status: "RETRY", category: "TRANSIENT" });
  });
  test("Data Manager's prefixes mean the same codes, in capitals or not", () => {
    for (const name of ["PROCESSING_ERROR_REASON_INVALID_GCLID", "PROCESSING_ERROR_INVALID_GCLID", "invalid_gclid"])
      expect(statusOf(name)).toBe("FAILED");
  });
});

// Guarantee: nobody is sent to a connection that a script does not have, or to a name that an API does not use.
// Mutation: causeOf that does not look at the way.
test("the fix of a cause is where the site's way to Google has it", () => {
  expect(causeOf("USER_PERMISSION_DENIED", "api")).toMatchObject({ name: "accessLost", cure: "reconnect" });
  expect(causeOf("USER_PERMISSION_DENIED", "script")).toMatchObject({ name: "scriptAccess", cure: "retry" });
  expect(causeOf("INVALID_CONVERSION_ACTION_ID", "api")).toMatchObject({ name: "chosenAction", cure: "actions" });
  expect(causeOf("INVALID_CONVERSION_ACTION_ID", "script")).toMatchObject({ name: "conversionAction", cure: "settings" });
  expect(causeOf("MAX_ATTEMPTS", "script")).toEqual(causeOf("MAX_ATTEMPTS", "api"));
});
