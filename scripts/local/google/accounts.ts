import type { Account, ConversionAction, Grant, OauthClient } from "./sim-shapes.ts";

export const adsScope = "https://www.googleapis.com/auth/adwords";
export const dataManagerScope = "https://www.googleapis.com/auth/datamanager";

/** Known to nobody but the demo and its tests: the simulator listens on this machine only. */
export const demoClient: OauthClient = { clientId: "demo.apps.googleusercontent.com", clientSecret: "demo-client-secret" };
export const demoCustomerId = "1234567890";
export const demoRefreshToken = "1//demo-refresh-token";

/** The names that a new site has, each with an id of its own. */
const demoActions: [string, string][] = [
  ["1001", "OpsMantik_V1_Nabiz"],
  ["1002", "OpsMantik_V2_Ilk_Temas"],
  ["1003", "OpsMantik_V3_Nitelikli_Gorusme"],
  ["1004", "OpsMantik_V4_Sicak_Teklif"],
  ["1005", "OpsMantik_V5_DEMIR_MUHUR"],
];

/** An account as a new advertiser has it: Data Manager works, the Ads API uploads of old are closed, adjustments are open. */
export function newAccount(customerId: string): Account {
  return {
    customerId,
    name: `Account ${customerId}`,
    currency: "TRY",
    timeZone: "Europe/Istanbul",
    isEnabled: true,
    managers: [],
    termsAccepted: true,
    enhancedConversionsForLeads: true,
    requiresConsent: false,
    uploads: "not_allowlisted",
    adjustments: "allowed",
    recordIndices: "text",
    conversionActions: demoActions.map(([id, name]) => newAction({ id, name })),
    refreshTokens: [],
  };
}

export function newAction(given: Partial<ConversionAction> & { id: string }): ConversionAction {
  return {
    name: `Action ${given.id}`,
    type: "UPLOAD_CLICKS",
    status: "ENABLED",
    countingType: "MANY_PER_CLICK",
    alwaysUseDefaultValue: false,
    ...given,
  };
}

export function newGrant(given: Partial<Grant> & { token: string }): Grant {
  return { clientId: demoClient.clientId, scopes: [adsScope, dataManagerScope], ...given };
}

export function demoAccount(): Account {
  return { ...newAccount(demoCustomerId), name: "OpsMantik demo", refreshTokens: [newGrant({ token: demoRefreshToken })] };
}
