/**
 * Why conversions fail, who can do something about it, and what. Every code that the system, the script or Google can leave on a row is here;
 * the words are in the message files under `causes`. A code that nobody has met yet is UNKNOWN, and is shown as it is beside the words.
 */

/** Who can make it work. */
type Fixer = "nobody" | "operator" | "owner" | "google" | "us";
/** What to press: send again, send again from the start, connect Google again, change a setting, wait, or nothing. */
export type Cure = "retry" | "reset" | "reconnect" | "settings" | "wait" | "none";

interface CauseGroup {
  fixer: Fixer;
  cure: Cure;
  codes: readonly string[];
}

const groups = {
  givenUp: { fixer: "operator", cure: "retry", codes: ["MANUAL_FAIL"] },
  attemptsUsed: { fixer: "operator", cure: "retry", codes: ["MAX_ATTEMPTS"] },
  saleCancelled: { fixer: "nobody", cure: "none", codes: ["SALE_CANCELLED"] },
  superseded: { fixer: "nobody", cure: "none", codes: ["SUPERSEDED", "RESTATEMENT_ALREADY_EXISTS", "MORE_RECENT_RESTATEMENT_FOUND"] },
  clickExpired: { fixer: "nobody", cure: "none", codes: ["CLICK_EXPIRED", "EXPIRED_EVENT", "EVENT_TOO_OLD"] },
  noClick: { fixer: "nobody", cure: "none", codes: ["NO_CLICK_ID", "MISSING_CLICK_ID"] },
  badClick: {
    fixer: "nobody",
    cure: "none",
    codes: [
      "UNPARSEABLE_GCLID",
      "UNPARSEABLE_WBRAID",
      "UNPARSEABLE_GBRAID",
      "INVALID_GCLID",
      "INVALID_WBRAID",
      "INVALID_GBRAID",
      "INVALID_CLICK",
      "INVALID_CLICK_ID",
    ],
  },
  clickNotFound: { fixer: "nobody", cure: "none", codes: ["EVENT_NOT_FOUND", "CLICK_NOT_FOUND"] },
  beforeClick: { fixer: "nobody", cure: "none", codes: ["CONVERSION_PRECEDES_EVENT", "CONVERSION_PRECEDES_CLICK"] },
  noConsent: { fixer: "nobody", cure: "none", codes: ["NO_CONSENT", "DENIED_CONSENT", "UNKNOWN_CONSENT"] },
  trackingWasOff: { fixer: "nobody", cure: "none", codes: ["CONVERSION_TRACKING_NOT_ENABLED_AT_IMPRESSION_TIME"] },
  adjustmentTooLate: { fixer: "nobody", cure: "none", codes: ["ADJUSTMENT_EXPIRED", "CONVERSION_EXPIRED"] },
  alreadyThere: {
    fixer: "nobody",
    cure: "none",
    codes: [
      "CLICK_CONVERSION_ALREADY_EXISTS",
      "ORDER_ID_ALREADY_IN_USE",
      "DUPLICATE_TRANSACTION_ID",
      "DUPLICATE_GCLID",
      "CONVERSION_ALREADY_RETRACTED",
    ],
  },
  notFoundYet: { fixer: "google", cure: "wait", codes: ["CONVERSION_NOT_FOUND"] },
  tooRecent: {
    fixer: "google",
    cure: "wait",
    codes: ["TOO_RECENT_EVENT", "TOO_RECENT_CONVERSION_ACTION", "TOO_RECENT_CALL", "TOO_RECENT_CLICK"],
  },
  googleFailed: {
    fixer: "google",
    cure: "retry",
    codes: [
      "INTERNAL_ERROR",
      "TRANSIENT_ERROR",
      "DEADLINE_EXCEEDED",
      "CONCURRENT_MODIFICATION",
      "UNAVAILABLE",
      "BACKEND_ERROR",
      "TIMEOUT",
      "NETWORK_ERROR",
    ],
  },
  quota: { fixer: "google", cure: "wait", codes: ["RESOURCE_TEMPORARILY_EXHAUSTED", "RESOURCE_EXHAUSTED", "RATE_LIMIT"] },
  circuitOpen: { fixer: "google", cure: "wait", codes: ["CIRCUIT_OPEN"] },
  busy: { fixer: "us", cure: "wait", codes: ["CONCURRENCY_LIMIT"] },
  scriptFailed: { fixer: "owner", cure: "retry", codes: ["APPLY_FAILED"] },
  accessLost: {
    fixer: "owner",
    cure: "reconnect",
    codes: [
      "OAUTH_TOKEN_REVOKED",
      "OAUTH_TOKEN_EXPIRED",
      "INVALID_GRANT",
      "USER_PERMISSION_DENIED",
      "PERMISSION_DENIED",
      "UNAUTHENTICATED",
      "CUSTOMER_NOT_ENABLED",
      "TWO_STEP_VERIFICATION_NOT_ENROLLED",
    ],
  },
  wrongAccount: {
    fixer: "owner",
    cure: "reconnect",
    codes: [
      "INVALID_CUSTOMER_FOR_CLICK",
      "UNAUTHORIZED_CUSTOMER",
      "INVALID_OPERATING_ACCOUNT_FOR_CLICK",
      "OPERATING_ACCOUNT_MISMATCH_FOR_AD_IDENTIFIER",
    ],
  },
  conversionAction: {
    fixer: "owner",
    cure: "settings",
    codes: ["NO_CONVERSION_ACTION_FOUND", "INVALID_CONVERSION_ACTION_TYPE", "RESOURCE_NOT_FOUND", "INVALID_CONVERSION_NAME"],
  },
  onePerClick: {
    fixer: "owner",
    cure: "settings",
    codes: ["ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID"],
  },
  termsNotAccepted: {
    fixer: "owner",
    cure: "settings",
    codes: ["CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS", "ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED"],
  },
  enhancedOff: { fixer: "owner", cure: "settings", codes: ["CUSTOMER_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS"] },
  notAdmitted: {
    fixer: "us",
    cure: "none",
    codes: ["CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE", "CLOUD_PROJECT_NOT_APPROVED_FOR_PRODUCTION"],
  },
  refusedRow: {
    fixer: "us",
    cure: "reset",
    codes: [
      "VALIDATION_FAILED",
      "INVALID_ARGUMENT",
      "INVALID_EVENT",
      "INVALID_FORMAT",
      "INVALID_TIME",
      "INVALID_CONVERSION_TIME",
      "INVALID_STRING_DATE_TIME_SECONDS_WITH_OFFSET",
      "INVALID_ORDER_ID",
      "INVALID_CONVERSION_VALUE",
      "INVALID_CURRENCY",
      "INVALID_USER_IDENTIFIER",
      "UNSUPPORTED_USER_IDENTIFIER",
      "GBRAID_WBRAID_BOTH_SET",
      "VALUE_MUST_BE_UNSET",
      "ORDER_ID_CONTAINS_PII",
      "CUSTOM_VARIABLE_VALUE_CONTAINS_PII",
      "DUPLICATE_ORDER_ID",
      "DUPLICATE_CLICK_CONVERSION_IN_REQUEST",
      "TOO_MANY_CONVERSIONS_IN_REQUEST",
    ],
  },
  unknown: { fixer: "us", cure: "retry", codes: ["UNKNOWN", "ERROR_CODE_NOT_PUBLISHED"] },
} as const satisfies Record<string, CauseGroup>;

type CauseName = keyof typeof groups;
export interface Cause {
  /** Names the words: `causes.<name>.what` and `causes.<name>.fix`; who is `causes.who.<fixer>`. */
  name: CauseName;
  fixer: Fixer;
  cure: Cure;
}

const causes = new Map<string, Cause>(
  (Object.entries(groups) as [CauseName, CauseGroup][]).flatMap(([name, { fixer, cure, codes }]) =>
    codes.map((code): [string, Cause] => [code, { name, fixer, cure }]),
  ),
);

/** Data Manager says the same with a prefix. */
const prefix = /^PROCESSING_ERROR_(REASON_)?/;

/** The cause behind a code on a row. */
export function causeOf(code: string): Cause {
  return causes.get(code.toUpperCase().replace(prefix, "")) ?? { name: "unknown", fixer: groups.unknown.fixer, cure: groups.unknown.cure };
}
