import type { ErrorCategory } from "#lib/providers/port.ts";

/** What an error of Google means for the row it is about. */
export interface ErrorRule {
  status: "COMPLETED" | "RETRY" | "FAILED";
  category: ErrorCategory;
  /** How long to wait where the usual backoff is too short. */
  waitHours?: number;
  /** Google asked to wait: no attempt is spent. */
  isFreeWait?: boolean;
  /** Google itself is at fault or overrun, not the row. */
  isProviderFailure?: boolean;
  /** Google has it already: success. */
  isDuplicate?: boolean;
  /** Google knows it by its click and time, not by our order id: if the row was never sent before, that is another sale. */
  isByClick?: boolean;
  /** The account refuses us: the whole site stops until somebody acts. */
  blocksAccount?: boolean;
  /** The conversion action is at fault: it stops until a test passes. */
  blocksAction?: boolean;
  /** The OAuth credentials themselves, so every API is lost with them. */
  isOfToken?: boolean;
  /** This API or feature is closed to us: a correction becomes work for a person. */
  lacksAccess?: boolean;
}

interface RuleGroup extends ErrorRule {
  /** Separated by white space. */
  codes: string;
}

/**
 * Every code that the Google Ads API, Data Manager or OAuth gives and that we act on, by what we do about it. Names of the runbook that Google
 * has since replaced (INVALID_GCLID, RATE_LIMIT, BACKEND_ERROR, RESOURCE_NOT_FOUND) are understood, too. What people read about each
 * code is in lib/oci/queue/causes.ts; a test keeps the two together.
 */
const groups = {
  alreadyThere: {
    status: "COMPLETED",
    category: "VALIDATION",
    isDuplicate: true,
    codes: "ORDER_ID_ALREADY_IN_USE DUPLICATE_TRANSACTION_ID CONVERSION_ALREADY_RETRACTED",
  },
  clickTaken: {
    status: "COMPLETED",
    category: "VALIDATION",
    isDuplicate: true,
    isByClick: true,
    codes: "CLICK_CONVERSION_ALREADY_EXISTS DUPLICATE_GCLID",
  },
  /** Sent without a click id and matched to nobody. Google calls it safe to ignore, and sending it again changes nothing. */
  unmatched: { status: "COMPLETED", category: "VALIDATION", codes: "CLICK_NOT_FOUND" },
  tooRecent: {
    status: "RETRY",
    category: "TRANSIENT",
    waitHours: 6,
    isFreeWait: true,
    codes: `TOO_RECENT_EVENT TOO_RECENT_CONVERSION_ACTION TOO_RECENT_CALL TOO_RECENT_CLICK TOO_RECENT_CONVERSION`,
  },
  /** Maybe still being processed. Five attempts, six hours apart, span the day that Google may need. */
  notFoundYet: { status: "RETRY", category: "TRANSIENT", waitHours: 6, codes: "CONVERSION_NOT_FOUND" },
  /** Both corrections only need a later time, which the next attempt has. */
  laterTimeNeeded: {
    status: "RETRY",
    category: "TRANSIENT",
    codes: "RESTATEMENT_ALREADY_EXISTS MORE_RECENT_RESTATEMENT_FOUND",
  },
  googleFailed: {
    status: "RETRY",
    category: "TRANSIENT",
    isProviderFailure: true,
    codes: `INTERNAL_ERROR INTERNAL TRANSIENT_ERROR DEADLINE_EXCEEDED CONCURRENT_MODIFICATION ABORTED UNAVAILABLE BACKEND_ERROR`,
  },
  quota: {
    status: "RETRY",
    category: "RATE_LIMIT",
    isProviderFailure: true,
    codes: "RESOURCE_TEMPORARILY_EXHAUSTED RESOURCE_EXHAUSTED RATE_LIMIT_EXCEEDED RATE_LIMIT",
  },
  tokenLost: {
    status: "FAILED",
    category: "AUTH",
    blocksAccount: true,
    isOfToken: true,
    codes: `INVALID_GRANT INVALID_CLIENT UNAUTHORIZED_CLIENT OAUTH_TOKEN_REVOKED OAUTH_TOKEN_EXPIRED OAUTH_TOKEN_INVALID
      OAUTH_TOKEN_DISABLED ACCESS_TOKEN_EXPIRED ACCESS_TOKEN_TYPE_UNSUPPORTED CREDENTIALS_MISSING UNAUTHENTICATED
      GOOGLE_ACCOUNT_DELETED`,
  },
  accessLost: {
    status: "FAILED",
    category: "AUTH",
    blocksAccount: true,
    codes: `AUTHENTICATION_ERROR PERMISSION_DENIED USER_PERMISSION_DENIED AUTHORIZATION_ERROR ACTION_NOT_PERMITTED
      ACTION_NOT_PERMITTED_FOR_SUSPENDED_ACCOUNT CUSTOMER_NOT_ENABLED CUSTOMER_NOT_FOUND INVALID_CUSTOMER_ID
      INVALID_LOGIN_CUSTOMER_ID_SERVING_CUSTOMER_ID_COMBINATION NOT_ADS_USER TWO_STEP_VERIFICATION_NOT_ENROLLED
      ADVANCED_PROTECTION_NOT_ENROLLED UNSUPPORTED_VERSION`,
  },
  notAdmitted: {
    status: "FAILED",
    category: "AUTH",
    blocksAccount: true,
    lacksAccess: true,
    codes: `CLOUD_PROJECT_NOT_APPROVED_FOR_PRODUCTION DEVELOPER_TOKEN_NOT_APPROVED DEVELOPER_TOKEN_PROHIBITED
      DEVELOPER_TOKEN_NOT_ON_ALLOWLIST DEVELOPER_TOKEN_INVALID PROJECT_DISABLED SERVICE_DISABLED SERVICE_ACCESS_DENIED
      ACCESS_TOKEN_SCOPE_INSUFFICIENT`,
  },
  notAllowlisted: {
    status: "FAILED",
    category: "VALIDATION",
    blocksAction: true,
    lacksAccess: true,
    codes: "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE NOT_ALLOWLISTED",
  },
  conversionAction: {
    status: "FAILED",
    category: "VALIDATION",
    blocksAction: true,
    codes: `NO_CONVERSION_ACTION_FOUND INVALID_CONVERSION_ACTION_TYPE INVALID_CONVERSION_ACTION_ID RESOURCE_NOT_FOUND INVALID_DESTINATION
      OPERATING_ACCOUNT_LOGIN_ACCOUNT_MISMATCH DESTINATION_ACCOUNT_TYPE_MISMATCH
      EXTERNAL_ATTRIBUTION_DATA_NOT_SET_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION
      ORDER_ID_NOT_PERMITTED_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS
      TERMS_AND_CONDITIONS_NOT_SIGNED ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED
      DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED CUSTOMER_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS
      DESTINATION_ACCOUNT_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS CUSTOMER_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS
      DESTINATION_ACCOUNT_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS`,
  },
  /** The row itself. A wrong account or counting type is here, too: other clicks of the same action go through. */
  row: {
    status: "FAILED",
    category: "VALIDATION",
    codes: `INVALID_ARGUMENT UNPARSEABLE_GCLID UNPARSEABLE_WBRAID UNPARSEABLE_GBRAID INVALID_GCLID INVALID_WBRAID INVALID_GBRAID
      INVALID_CLICK EXPIRED_EVENT EVENT_TOO_OLD CONVERSION_PRECEDES_EVENT CONVERSION_PRECEDES_CLICK EVENT_NOT_FOUND
      INVALID_CUSTOMER_FOR_CLICK UNAUTHORIZED_CUSTOMER INVALID_OPERATING_ACCOUNT_FOR_CLICK
      OPERATING_ACCOUNT_MISMATCH_FOR_AD_IDENTIFIER ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID
      CONVERSION_TRACKING_NOT_ENABLED_AT_IMPRESSION_TIME CONVERSION_NOT_COMPLIANT_WITH_ATT_POLICY DENIED_CONSENT NO_CONSENT
      UNKNOWN_CONSENT INVALID_USER_IDENTIFIER UNSUPPORTED_USER_IDENTIFIER NO_IDENTIFIERS_PROVIDED INVALID_HEX_ENCODING
      INVALID_SHA256_FORMAT GBRAID_WBRAID_BOTH_SET VALUE_MUST_BE_UNSET ORDER_ID_CONTAINS_PII CUSTOM_VARIABLE_VALUE_CONTAINS_PII
      INVALID_STRING_DATE_TIME_SECONDS_WITH_OFFSET INVALID_CONVERSION_TIME EVENT_TIME_INVALID INVALID_EVENT INVALID_FORMAT
      INVALID_ENUM_VALUE INVALID_NUMBER_FORMAT INVALID_CURRENCY_CODE REQUIRED_FIELD_MISSING REQUIRED INVALID_VALUE
      LATER_THAN_MAXIMUM_DATE EARLIER_THAN_MINIMUM_DATE FIELD_VALUE_TOO_LONG EVENT_SOURCE_AND_DESTINATION_MISMATCH
      CONVERSION_EXPIRED ADJUSTMENT_PRECEDES_CONVERSION TOO_MANY_ADJUSTMENTS
      CANNOT_RESTATE_CONVERSION_ACTION_THAT_ALWAYS_USES_DEFAULT_CONVERSION_VALUE DUPLICATE_ORDER_ID
      DUPLICATE_CLICK_CONVERSION_IN_REQUEST DUPLICATE_ADJUSTMENT_IN_REQUEST TOO_MANY_CONVERSIONS_IN_REQUEST
      TOO_MANY_ADJUSTMENTS_IN_REQUEST TOO_MANY_EVENTS TOO_MANY_USER_IDENTIFIERS INVALID_JOB_ID`,
  },
} as const satisfies Record<string, RuleGroup>;

const rules = new Map<string, ErrorRule>(
  Object.values(groups).flatMap((group: RuleGroup) => {
    const { codes, ...rule } = group;
    return codes.split(/\s+/).map((code): [string, ErrorRule] => [code, rule]);
  }),
);

/** A code that is not listed is kept as it is, retried within the cap and shown. */
const unknown: ErrorRule = { status: "RETRY", category: "TRANSIENT" };

/** What the token endpoint refuses has this family, whatever its code is. */
export const oauthFamily = "oauth";

/** The Ads API names a family with each code. In these, a code that is new to us means what the others mean. */
const byFamily: Record<string, ErrorRule> = {
  ...Object.fromEntries(
    ["currencyCode", "date", "enum", "field", "id", "notEmpty", "null", "range", "stringFormat", "stringLength"].map((family) => [
      `${family}Error`,
      { status: "FAILED", category: "VALIDATION" } satisfies ErrorRule,
    ]),
  ),
  authenticationError: { status: "FAILED", category: "AUTH", blocksAccount: true },
  authorizationError: { status: "FAILED", category: "AUTH", blocksAccount: true },
  quotaError: { status: "RETRY", category: "RATE_LIMIT", isProviderFailure: true },
  [oauthFamily]: { status: "FAILED", category: "AUTH", blocksAccount: true, isOfToken: true },
};

/** For the whole answer, whatever code it carries. A 400 with an unknown code is a request that Google will not take (PR8A). */
const byStatus: Record<number, ErrorRule> = {
  400: { status: "FAILED", category: "VALIDATION" },
  401: { status: "FAILED", category: "AUTH", blocksAccount: true },
  403: { status: "FAILED", category: "AUTH", blocksAccount: true },
  429: { status: "RETRY", category: "RATE_LIMIT", isProviderFailure: true },
};

/** Data Manager writes its reasons with a prefix, one of them with a shorter one. */
const prefix = /^PROCESSING_ERROR_(REASON_)?/;

export function bareCode(code: string): string {
  const bare = code.toUpperCase().replace(prefix, "");
  return rules.has(bare) ? bare : code;
}

export function isKnownCode(code: string): boolean {
  return rules.has(bareCode(code));
}

/** Every code with a rule. */
export const knownCodes: readonly string[] = [...rules.keys()];

/** What to do about a code in an answer with this HTTP status; 200 for the errors of single rows. */
export function classifyGoogleAdsError(code: string, httpStatus: number, family = ""): ErrorRule {
  const known = rules.get(bareCode(code)) ?? byFamily[family];
  const whole = byStatus[httpStatus];
  if (whole && httpStatus !== 400)
    return { ...whole, ...(known?.lacksAccess && { lacksAccess: true }), ...(known?.isOfToken && { isOfToken: true }) };
  if (httpStatus >= 500) return unknown;
  return known ?? whole ?? unknown;
}
