import { createHash } from "node:crypto";
import type { Sim } from "./sim.ts";
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

interface TokenPayload {
  grant: string;
  until: number;
}

const hashOf = (refreshToken: string) => createHash("sha256").update(refreshToken).digest("hex").slice(0, 24);

/** Holds no secret and needs no memory, so a restart of the simulator revokes nothing. */
export function issueAccessToken({ now, settings }: Sim, refreshToken: string): string {
  const payload: TokenPayload = { grant: hashOf(refreshToken), until: now() + settings().tokenSeconds * 1000 };
  return `ya29.${Buffer.from(JSON.stringify(payload)).toString("base64url")}`;
}

export type Caller = { grants: (Grant & { customerId: string })[] } | { problem: "missing" | "invalid" | "expired" | "revoked" };

/** Whose rights a bearer token carries. */
export function readCaller({ store, now }: Sim, authorization: string | undefined): Caller {
  if (!authorization) return { problem: "missing" };
  const payload = decode(authorization);
  if (!payload) return { problem: "invalid" };
  if (payload.until <= now()) return { problem: "expired" };
  const grants = store
    .values("accounts")
    .flatMap(({ customerId, refreshTokens }) => refreshTokens.map((grant) => ({ ...grant, customerId })));
  const own = grants.filter(({ token }) => hashOf(token) === payload.grant);
  return own.length > 0 ? { grants: own } : { problem: "revoked" };
}

function decode(authorization: string): TokenPayload | undefined {
  const [, text] = /^Bearer ya29\.([\w-]+)$/.exec(authorization) ?? [];
  try {
    const payload: TokenPayload = JSON.parse(Buffer.from(text ?? "", "base64url").toString());
    return Number.isFinite(payload.until) ? payload : undefined;
  } catch {
    return undefined;
  }
}

/** A login customer says through which manager the account is reached; without one, the account itself must be the person's. */
export function mayReach(grants: (Grant & { customerId: string })[], account: Account, loginCustomerId: string | undefined): boolean {
  return grants.some(({ customerId, via }) => {
    if (customerId !== account.customerId) return false;
    if (!via) return !loginCustomerId || loginCustomerId === account.customerId || account.managers.includes(loginCustomerId);
    return loginCustomerId === via && account.managers.includes(via);
  });
}
