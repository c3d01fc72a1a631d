/**
 * Why conversions fail, who can do something about it, and what. Every code that the system, the script or Google can leave on a row is here;
 * the texts are in the message files under `causes`. A code that is not listed is UNKNOWN, and is shown beside the text.
 */

/** Who can make it work. host: the person who runs this installation. */
type Fixer = "nobody" | "operator" | "owner" | "google" | "us" | "host";
/** What to press: send again, send again from the start, connect Google again, change a setting, choose a conversion action, wait, or nothing. */
export type Cure = "retry" | "reset" | "reconnect" | "settings" | "actions" | "wait" | "none";

type SyncMethod = "script" | "api";

interface CauseGroup {
  fixer: Fixer;
  cure: Cure;
  /** Separated by white space. */
  codes: string;
}

const groups = {
  givenUp: { fixer: "operator", cure: "retry", codes: "MANUAL_FAIL" },
  attemptsUsed: { fixer: "operator", cure: "retry", codes: "MAX_ATTEMPTS" },
  saleCancelled: { fixer: "nobody", cure: "none", codes: "SALE_CANCELLED" },
  neverArrived: { fixer: "nobody", cure: "none", codes: "NEVER_ARRIVED" },
  neverAnswered: { fixer: "nobody", cure: "none", codes: "NEVER_ANSWERED" },
  superseded: { fixer: "nobody", cure: "none", codes: "SUPERSEDED" },
  laterCorrection: { fixer: "google", cure: "wait", codes: "RESTATEMENT_ALREADY_EXISTS MORE_RECENT_RESTATEMENT_FOUND" },
  correctedTooOften: { fixer: "nobody", cure: "none", codes: "TOO_MANY_ADJUSTMENTS" },
  clickExpired: { fixer: "nobody", cure: "none", codes: "CLICK_EXPIRED EXPIRED_EVENT EVENT_TOO_OLD" },
  noClick: { fixer: "nobody", cure: "none", codes: "NO_CLICK_ID MISSING_CLICK_ID NO_IDENTIFIERS_PROVIDED" },
  badClick: {
    fixer: "nobody",
    cure: "none",
    codes: `UNPARSEABLE_GCLID UNPARSEABLE_WBRAID UNPARSEABLE_GBRAID INVALID_GCLID INVALID_WBRAID INVALID_GBRAID INVALID_CLICK
      INVALID_CLICK_ID`,
  },
  clickNotFound: { fixer: "nobody", cure: "none", codes: "EVENT_NOT_FOUND CLICK_NOT_FOUND" },
  beforeClick: { fixer: "nobody", cure: "none", codes: "CONVERSION_PRECEDES_EVENT CONVERSION_PRECEDES_CLICK" },
  noConsent: {
    fixer: "nobody",
    cure: "none",
    codes: "NO_CONSENT DENIED_CONSENT UNKNOWN_CONSENT CONVERSION_NOT_COMPLIANT_WITH_ATT_POLICY",
  },
  trackingWasOff: { fixer: "nobody", cure: "none", codes: "CONVERSION_TRACKING_NOT_ENABLED_AT_IMPRESSION_TIME" },
  adjustmentTooLate: { fixer: "nobody", cure: "none", codes: "ADJUSTMENT_EXPIRED CONVERSION_EXPIRED" },
  alreadyThere: {
    fixer: "nobody",
    cure: "none",
    codes: "ORDER_ID_ALREADY_IN_USE DUPLICATE_TRANSACTION_ID CONVERSION_ALREADY_RETRACTED",
  },
  clickTaken: { fixer: "nobody", cure: "none", codes: "CLICK_CONVERSION_ALREADY_EXISTS DUPLICATE_GCLID" },
  notFoundYet: { fixer: "google", cure: "wait", codes: "CONVERSION_NOT_FOUND TOO_RECENT_CONVERSION" },
  tooRecent: {
    fixer: "google",
    cure: "wait",
    codes: "TOO_RECENT_EVENT TOO_RECENT_CONVERSION_ACTION TOO_RECENT_CALL TOO_RECENT_CLICK",
  },
  googleFailed: {
    fixer: "google",
    cure: "retry",
    codes: `INTERNAL_ERROR INTERNAL ABORTED TRANSIENT_ERROR DEADLINE_EXCEEDED CONCURRENT_MODIFICATION UNAVAILABLE BACKEND_ERROR TIMEOUT
      NETWORK_ERROR NO_RESULT`,
  },
  quota: {
    fixer: "google",
    cure: "wait",
    codes: "RESOURCE_TEMPORARILY_EXHAUSTED RESOURCE_EXHAUSTED RATE_LIMIT_EXCEEDED RATE_LIMIT",
  },
  circuitOpen: { fixer: "google", cure: "wait", codes: "CIRCUIT_OPEN" },
  refusedWithOthers: { fixer: "google", cure: "wait", codes: "REFUSED_WITH_OTHERS" },
  busy: { fixer: "us", cure: "wait", codes: "CONCURRENCY_LIMIT" },
  vaultKey: { fixer: "host", cure: "wait", codes: "VAULT_KEY_MISSING VAULT_KEY_MISMATCH" },
  connectionChanged: { fixer: "us", cure: "wait", codes: "CREDENTIALS_CHANGED" },
  scriptFailed: { fixer: "owner", cure: "retry", codes: "APPLY_FAILED" },
  accessLost: {
    fixer: "owner",
    cure: "reconnect",
    codes: `OAUTH_TOKEN_REVOKED OAUTH_TOKEN_EXPIRED OAUTH_TOKEN_INVALID OAUTH_TOKEN_DISABLED ACCESS_TOKEN_EXPIRED
      ACCESS_TOKEN_TYPE_UNSUPPORTED ACCESS_TOKEN_SCOPE_INSUFFICIENT CREDENTIALS_MISSING CREDENTIALS_UNREADABLE INVALID_GRANT
      INVALID_CLIENT UNAUTHORIZED_CLIENT AUTHENTICATION_ERROR AUTHORIZATION_ERROR ACTION_NOT_PERMITTED
      ACTION_NOT_PERMITTED_FOR_SUSPENDED_ACCOUNT INVALID_LOGIN_CUSTOMER_ID_SERVING_CUSTOMER_ID_COMBINATION NOT_ADS_USER
      GOOGLE_ACCOUNT_DELETED CUSTOMER_NOT_FOUND INVALID_CUSTOMER_ID ADVANCED_PROTECTION_NOT_ENROLLED USER_PERMISSION_DENIED
      PERMISSION_DENIED UNAUTHENTICATED CUSTOMER_NOT_ENABLED TWO_STEP_VERIFICATION_NOT_ENROLLED`,
  },
  scriptAccess: { fixer: "owner", cure: "retry", codes: "" },
  scriptAccount: { fixer: "owner", cure: "retry", codes: "" },
  wrongAccount: {
    fixer: "owner",
    cure: "reconnect",
    codes: `INVALID_CUSTOMER_FOR_CLICK UNAUTHORIZED_CUSTOMER INVALID_OPERATING_ACCOUNT_FOR_CLICK
      OPERATING_ACCOUNT_MISMATCH_FOR_AD_IDENTIFIER`,
  },
  conversionAction: {
    fixer: "owner",
    cure: "settings",
    codes: `NO_CONVERSION_ACTION_FOUND INVALID_CONVERSION_ACTION_TYPE INVALID_CONVERSION_ACTION_ID RESOURCE_NOT_FOUND
      INVALID_CONVERSION_NAME INVALID_DESTINATION OPERATING_ACCOUNT_LOGIN_ACCOUNT_MISMATCH DESTINATION_ACCOUNT_TYPE_MISMATCH
      EXTERNAL_ATTRIBUTION_DATA_NOT_SET_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION
      ORDER_ID_NOT_PERMITTED_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION`,
  },
  chosenAction: { fixer: "owner", cure: "actions", codes: "" },
  onePerClick: {
    fixer: "owner",
    cure: "settings",
    codes: "ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID",
  },
  defaultValueOnly: {
    fixer: "owner",
    cure: "settings",
    codes: "CANNOT_RESTATE_CONVERSION_ACTION_THAT_ALWAYS_USES_DEFAULT_CONVERSION_VALUE",
  },
  termsNotAccepted: {
    fixer: "owner",
    cure: "settings",
    codes: `CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS TERMS_AND_CONDITIONS_NOT_SIGNED ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED
      DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED`,
  },
  enhancedOff: {
    fixer: "owner",
    cure: "settings",
    codes: `CUSTOMER_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS DESTINATION_ACCOUNT_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS`,
  },
  notAdmitted: {
    fixer: "us",
    cure: "none",
    codes: `CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE NOT_ALLOWLISTED CLOUD_PROJECT_NOT_APPROVED_FOR_PRODUCTION
      DEVELOPER_TOKEN_NOT_APPROVED DEVELOPER_TOKEN_PROHIBITED DEVELOPER_TOKEN_NOT_ON_ALLOWLIST DEVELOPER_TOKEN_INVALID
      PROJECT_DISABLED SERVICE_DISABLED SERVICE_ACCESS_DENIED UNSUPPORTED_VERSION
      CUSTOMER_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS DESTINATION_ACCOUNT_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS`,
  },
  refusedRow: {
    fixer: "us",
    cure: "reset",
    codes: `VALIDATION_FAILED INVALID_ARGUMENT INVALID_EVENT INVALID_FORMAT INVALID_ENUM_VALUE INVALID_NUMBER_FORMAT INVALID_HEX_ENCODING
      INVALID_SHA256_FORMAT REQUIRED_FIELD_MISSING REQUIRED INVALID_VALUE LATER_THAN_MAXIMUM_DATE EARLIER_THAN_MINIMUM_DATE
      FIELD_VALUE_TOO_LONG EVENT_TIME_INVALID EVENT_SOURCE_AND_DESTINATION_MISMATCH ADJUSTMENT_PRECEDES_CONVERSION INVALID_TIME
      INVALID_CONVERSION_TIME INVALID_STRING_DATE_TIME_SECONDS_WITH_OFFSET INVALID_ORDER_ID INVALID_CONVERSION_VALUE
      INVALID_CURRENCY INVALID_CURRENCY_CODE INVALID_USER_IDENTIFIER UNSUPPORTED_USER_IDENTIFIER GBRAID_WBRAID_BOTH_SET
      VALUE_MUST_BE_UNSET ORDER_ID_CONTAINS_PII CUSTOM_VARIABLE_VALUE_CONTAINS_PII DUPLICATE_ORDER_ID
      DUPLICATE_CLICK_CONVERSION_IN_REQUEST DUPLICATE_ADJUSTMENT_IN_REQUEST TOO_MANY_CONVERSIONS_IN_REQUEST
      TOO_MANY_ADJUSTMENTS_IN_REQUEST TOO_MANY_EVENTS TOO_MANY_USER_IDENTIFIERS INVALID_JOB_ID`,
  },
  unknown: { fixer: "us", cure: "retry", codes: "UNKNOWN ERROR_CODE_NOT_PUBLISHED" },
} as const satisfies Record<string, CauseGroup>;

type CauseName = keyof typeof groups;
export interface Cause {
  /** Names the messages: `causes.<name>.what` and `causes.<name>.fix`; who is `who.<fixer>`, the cure `actions.<cure>`. */
  name: CauseName;
  fixer: Fixer;
  cure: Cure;
}

const causes = new Map<string, Cause>(
  (Object.entries(groups) as [CauseName, CauseGroup][]).flatMap(([name, { fixer, cure, codes }]) =>
    codes.split(/\s+/).map((code): [string, Cause] => [code, { name, fixer, cure }]),
  ),
);

/** What sending again cannot change, whichever way the site sends. */
export const unfixableCodes = [...causes].flatMap(([code, { cure }]) => (cure === "none" ? [code] : []));

/** Data Manager says the same with a prefix. */
const prefix = /^PROCESSING_ERROR_(REASON_)?/;

/** Causes whose fix differs between script and API: a script has no connection, and an API's action is chosen by its number. */
const instead: Record<SyncMethod, Partial<Record<CauseName, CauseName>>> = {
  script: { accessLost: "scriptAccess", wrongAccount: "scriptAccount" },
  api: { conversionAction: "chosenAction" },
};

/** The cause behind a code on a row. How the site sends decides where the fix is. */
export function causeOf(code: string, syncMethod?: SyncMethod): Cause {
  const known = causes.get(code.toUpperCase().replace(prefix, ""))?.name ?? "unknown";
  const name = (syncMethod && instead[syncMethod][known]) ?? known;
  const { fixer, cure } = groups[name];
  return { name, fixer, cure };
}
