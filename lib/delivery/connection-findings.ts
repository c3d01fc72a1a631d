/**
 * Why Google refuses a connection, in groups with one explanation and one fix each. The sentences are in the message files under
 * `googleAds.findings`. A form shows a finding at the field that has to change.
 */

type ConnectField =
  | "customer_id"
  | "login_customer_id"
  | "developer_token"
  | "client_id"
  | "client_secret"
  | "refresh_token"
  | "conversion_action_resource_name"
  | "transport";

interface FindingGroup {
  /** Null: none of our fields is at fault. */
  field: ConnectField | null;
  codes: readonly string[];
}

const groups = {
  clientRefused: { field: "client_secret", codes: ["INVALID_CLIENT"] },
  tokenRevoked: {
    field: "refresh_token",
    codes: [
      "INVALID_GRANT",
      "OAUTH_TOKEN_REVOKED",
      "OAUTH_TOKEN_EXPIRED",
      "OAUTH_TOKEN_INVALID",
      "OAUTH_TOKEN_DISABLED",
      "UNAUTHENTICATED",
      "ACCESS_TOKEN_EXPIRED",
      "ACCESS_TOKEN_TYPE_UNSUPPORTED",
      "CREDENTIALS_MISSING",
      "GOOGLE_ACCOUNT_DELETED",
    ],
  },
  tokenOfAnother: { field: "refresh_token", codes: ["UNAUTHORIZED_CLIENT"] },
  permissionMissing: { field: "refresh_token", codes: ["ACCESS_TOKEN_SCOPE_INSUFFICIENT"] },
  accountUnreachable: {
    field: "customer_id",
    codes: [
      "PERMISSION_DENIED",
      "USER_PERMISSION_DENIED",
      "AUTHORIZATION_ERROR",
      "AUTHENTICATION_ERROR",
      "CUSTOMER_NOT_FOUND",
      "INVALID_CUSTOMER_ID",
      "NOT_ADS_USER",
      "SERVICE_ACCESS_DENIED",
      "ACTION_NOT_PERMITTED",
    ],
  },
  accountClosed: { field: "customer_id", codes: ["CUSTOMER_NOT_ENABLED", "ACTION_NOT_PERMITTED_FOR_SUSPENDED_ACCOUNT"] },
  accountOfAnother: { field: "customer_id", codes: ["INVALID_DESTINATION", "DESTINATION_ACCOUNT_TYPE_MISMATCH"] },
  managerWrong: {
    field: "login_customer_id",
    codes: ["INVALID_LOGIN_CUSTOMER_ID_SERVING_CUSTOMER_ID_COMBINATION", "OPERATING_ACCOUNT_LOGIN_ACCOUNT_MISMATCH"],
  },
  personUnsafe: {
    field: null,
    codes: ["TWO_STEP_VERIFICATION_NOT_ENROLLED", "ADVANCED_PROTECTION_NOT_ENROLLED"],
  },
  apiDisabled: { field: "client_id", codes: ["SERVICE_DISABLED", "PROJECT_DISABLED"] },
  projectNotApproved: { field: "client_id", codes: ["CLOUD_PROJECT_NOT_APPROVED_FOR_PRODUCTION"] },
  developerToken: {
    field: "developer_token",
    codes: ["DEVELOPER_TOKEN_NOT_APPROVED", "DEVELOPER_TOKEN_PROHIBITED", "DEVELOPER_TOKEN_NOT_ON_ALLOWLIST", "DEVELOPER_TOKEN_INVALID"],
  },
  uploadsClosed: { field: "transport", codes: ["CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE", "NOT_ALLOWLISTED"] },
  versionEnded: { field: null, codes: ["UNSUPPORTED_VERSION"] },
  actionUnknown: {
    field: "conversion_action_resource_name",
    codes: ["NO_CONVERSION_ACTION_FOUND", "INVALID_CONVERSION_ACTION_ID", "RESOURCE_NOT_FOUND"],
  },
  actionType: {
    field: "conversion_action_resource_name",
    codes: [
      "INVALID_CONVERSION_ACTION_TYPE",
      "EXTERNAL_ATTRIBUTION_DATA_NOT_SET_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION",
      "ORDER_ID_NOT_PERMITTED_FOR_EXTERNALLY_ATTRIBUTED_CONVERSION_ACTION",
    ],
  },
  termsNotAccepted: {
    field: null,
    codes: [
      "CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS",
      "TERMS_AND_CONDITIONS_NOT_SIGNED",
      "ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED",
      "DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED",
    ],
  },
  enhancedOff: {
    field: null,
    codes: [
      "CUSTOMER_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS",
      "DESTINATION_ACCOUNT_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS",
      "CUSTOMER_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS",
      "DESTINATION_ACCOUNT_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS",
    ],
  },
  noAnswer: {
    field: null,
    codes: [
      "TIMEOUT",
      "NETWORK_ERROR",
      "UNAVAILABLE",
      "INTERNAL_ERROR",
      "INTERNAL",
      "DEADLINE_EXCEEDED",
      "RATE_LIMIT",
      "RESOURCE_EXHAUSTED",
    ],
  },
  unknown: { field: null, codes: ["UNKNOWN"] },
} as const satisfies Record<string, FindingGroup>;

type FindingName = keyof typeof groups;

export interface Finding {
  /** Names the sentence: `googleAds.findings.<name>`. */
  name: FindingName;
  field: ConnectField | null;
}

const findings = new Map<string, Finding>(
  (Object.entries(groups) as [FindingName, FindingGroup][]).flatMap(([name, { field, codes }]) =>
    codes.map((code): [string, Finding] => [code, { name, field }]),
  ),
);

/** What a code says about the connection. A code that is not listed is `unknown`, and is shown beside the sentence. */
export function findingOf(code: string): Finding {
  return findings.get(code.toUpperCase()) ?? { name: "unknown", field: null };
}
