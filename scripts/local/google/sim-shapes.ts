/** What the simulator remembers, and what one call to it looks like. */
import type { IncomingHttpHeaders } from "node:http";

export interface Settings {
  /** How long Data Manager, and a script's file, take to be processed. */
  processingSeconds: number;
  /** A click this young is refused. Google says six hours. */
  clickMinAgeSeconds: number;
  tokenSeconds: number;
  /** How long every call takes at least. */
  callMs: number;
}

export interface ConversionAction {
  id: string;
  name: string;
  type: string;
  status: string;
  countingType: "MANY_PER_CLICK" | "ONE_PER_CLICK";
  alwaysUseDefaultValue: boolean;
  /** Within Google's six hours after this moment nothing can be uploaded to it. */
  createdAt?: string;
}

/** Whether a method may be used: refused row by row inside a 200, or as a whole with a 403. */
type Access = "allowed" | "not_allowlisted" | "denied";

export interface Account {
  customerId: string;
  name: string;
  currency: string;
  timeZone: string;
  isEnabled: boolean;
  /** Managers through which it can be reached. */
  managers: string[];
  /** Where its conversions live, when that is another account. */
  conversionCustomerId?: string;
  termsAccepted: boolean;
  enhancedConversionsForLeads: boolean;
  /** Whether user data without a consent is refused, as for visitors from the EEA. */
  requiresConsent: boolean;
  uploads: Access;
  adjustments: Access;
  /** How Data Manager names the rejected events: since v1.9, or not at all. */
  recordIndices: "text" | "number" | "none";
  conversionActions: ConversionAction[];
  refreshTokens: Grant[];
}

export interface Grant {
  token: string;
  clientId: string;
  /** A manager's id when the person can reach the account only through that manager. */
  via?: string;
  scopes: string[];
}

export interface OauthClient {
  clientId: string;
  clientSecret: string;
}

export interface AuthCode {
  clientId: string;
  redirectUri: string;
  customerId: string;
  scopes: string[];
  challenge: string | null;
  isOffline: boolean;
  expiresAt: number;
  isUsed: boolean;
}

export type Transport = "data_manager" | "ads_api" | "script";

export interface Identifiers {
  gclid?: string;
  gbraid?: string;
  wbraid?: string;
  phone?: string;
  email?: string;
}

/** One conversion as Google counts it: per conversion action and order id, whichever way it came. */
export interface Conversion {
  customerId: string;
  actionId: string;
  orderId: string | null;
  value: number;
  currency: string;
  conversionTime: number;
  identifiers: Identifiers;
  isRetracted: boolean;
  via: Transport;
  firstRequestId: string;
  /** The moment that the newest restatement names. */
  restatedAt: number | null;
  /** How often it was sent, duplicates included. */
  sends: number;
}

export interface IngestedEvent {
  index: number;
  actionId: string;
  customerId: string;
  destination: number;
  orderId: string | null;
  time: number;
  value: number;
  currency: string;
  identifiers: Identifiers;
  adUserData: string | null;
  forcedReason: string | null;
}

export interface IngestRequest {
  requestId: string;
  destinations: { customerId: string; actionId: string; json: object }[];
  acceptedAt: number;
  dueAt: number;
  events: IngestedEvent[];
  /** Per destination, once processed: reason and the indexes of its events. */
  errors: { destination: number; reason: string; indexes: number[] }[] | null;
}

/** Counts for the diagnostics resources of GAQL. */
export interface UploadTally {
  customerId: string;
  client: "GOOGLE_ADS_API" | "GOOGLE_ADS_WEB_CLIENT" | "ADS_DATA_CONNECTOR";
  actionId: string;
  day: string;
  jobId: string | null;
  successful: number;
  failed: number;
  lastAt: number;
  errors: Record<string, number>;
}

type Service = "oauth" | "data_manager" | "ads_api" | "script";

export interface Call {
  service: Service;
  method: string;
  /** The accounts that the call is about. */
  accounts: string[];
  httpMethod: string;
  headers: IncomingHttpHeaders;
  url: URL;
  text: string;
  requestId: string;
  /** Ads API: `v26`. */
  version: string;
  forced: ForcedError[];
}

/** One row that a scripted fault lets fail. */
interface ForcedError {
  index: number;
  /** Ads API: `{conversionUploadError: "…"}`. */
  code?: Record<string, string>;
  /** Data Manager: what the verdict will say. */
  reason?: string;
  message?: string;
}

/** One row of a call, for the log. */
export interface SentRow {
  orderId: string | null;
  action: string | null;
  kind: "CONVERSION" | "RESTATEMENT" | "RETRACTION";
  value: number | null;
  currency: string | null;
  outcome: string;
}

export interface Answer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
  /** The message of Google's definitions that the body is; errors say so by themselves. */
  message?: string;
  rows?: SentRow[];
  isValidateOnly?: boolean;
}

export interface CallRecord {
  seq: number;
  at: string;
  service: Service;
  method: string;
  accounts: string[];
  requestId: string;
  status: number;
  /** False when the caller never got the answer. */
  isAnswered: boolean;
  fault?: string;
  isValidateOnly?: boolean;
  rows: SentRow[];
}

export const faultKinds = ["status", "timeout", "timeout_after_accept", "slow", "partial", "revoked", "malformed"] as const;

export interface Fault {
  id: string;
  match: { service?: Service; method?: string; account?: string };
  /** How many calls it meets; null means every one until it is removed. */
  times: number | null;
  /** How many matching calls pass before it begins. */
  after: number;
  /** Meets only this share of the matching calls, drawn from `seed`. */
  probability?: number;
  seed?: number;
  draws?: number;
  /**
   * status: refused without being processed. timeout: dropped without being processed. timeout_after_accept: processed, never answered.
   * slow: processed, answered late. partial: the rows of `errors` fail. revoked: the person took the grant back. malformed: processed, the
   * answer is cut in half.
   */
  kind: (typeof faultKinds)[number];
  status?: number;
  /** Ads API: the error code, as `{quotaError: "RESOURCE_EXHAUSTED"}`. Data Manager and OAuth: `reason`. */
  code?: Record<string, string>;
  reason?: string;
  message?: string;
  retryDelay?: string;
  rateScope?: "ACCOUNT" | "DEVELOPER";
  isDaily?: boolean;
  /** slow: how late. Timeouts: how long the connection hangs before it is cut. */
  delayMs?: number;
  errors?: ForcedError[];
}
