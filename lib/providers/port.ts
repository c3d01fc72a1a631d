import type { LeadChannel } from "#lib/channels.ts";
import type { SiteUuid } from "#lib/site.ts";
import type { Credentials } from "./credentials.ts";

/** The way a conversion goes to Google by API. */
export type ApiTransport = "data_manager" | "ads_api";

/** One queue row, as claimed. */
export interface ConversionJob {
  id: string;
  kind: "CONVERSION" | "RESTATE" | "RETRACT";
  via: ApiTransport;
  /** The same on every transport and at every try: Google keeps one conversion per order id and conversion action. */
  orderId: string;
  /** `customers/1/conversionActions/2` */
  conversionAction: string;
  conversionTime: string;
  /** IANA name; the Ads API wants the site's own clock. */
  timezone: string;
  valueCents: number;
  currency: string;
  gclid: string | null;
  wbraid: string | null;
  gbraid: string | null;
  /** SHA-256 in hex. */
  phoneHash: string | null;
  emailHash: string | null;
  channel: LeadChannel | null;
  consent: "GRANTED" | null;
  /** Google may have it already: an earlier hand-out was not answered, or another dispatch of the sale was. */
  mayHaveArrived: boolean;
}

export type ErrorCategory = "VALIDATION" | "AUTH" | "TRANSIENT" | "RATE_LIMIT";

/** The outcome of one job. */
export interface UploadResult {
  id: string;
  status: "COMPLETED" | "RETRY" | "FAILED";
  transport: ApiTransport;
  requestId?: string;
  /** The row's place in the Data Manager request: verdicts name it. */
  recordIndex?: number;
  verdict?: "CONFIRMED" | "DUPLICATE";
  code?: string;
  category?: ErrorCategory;
  /** Google's own sentence, cut; never a credential. */
  message?: string;
  /** Google's name of the field that is wrong. */
  field?: string;
  retryAt?: Date;
  /** Google asked to wait, or did not answer: no attempt is spent. The circuit counts only the latter. */
  isFreeWait?: boolean;
  /** Google looked at the row and may take it later: that says nothing about Google's own health. */
  isJudged?: boolean;
  /** No API can do it: work for a person, for this reason. */
  byHand?: "NO_ADS_API_ACCESS";
  /** The conversion action itself is at fault: nothing more is sent to it until a test passes. */
  blocksAction?: boolean;
}

/** The account refuses us: nothing more is sent for this site until somebody reconnects or a test passes. */
export interface ProviderBlock {
  code: string;
  message: string;
}

export interface Upload {
  results: UploadResult[];
  block?: ProviderBlock;
  quota?: QuotaEnd;
}

/** Google's quota is used up until then: for this account, or for every account that is reached with the same OAuth client. */
export interface QuotaEnd {
  until: Date;
  isShared: boolean;
}

export interface ProviderConnection {
  siteUuid: SiteUuid;
  /** Grows with each connect; access tokens are cached per version. */
  version: number;
  credentials: Credentials;
  /** The claim's token. The Ads API's job id is made from it, so that Google's diagnostics name our batch. */
  batchId?: string;
  fetchTimeoutMs?: number;
}

interface RowVerdict {
  index: number;
  verdict: "REJECTED" | "DUPLICATE";
  reason: string;
  /** The same row, sent again later, can succeed. */
  retryable: boolean;
  /** A duplicate by its click and time: another sale's, if this row was never sent before. record_verdicts knows whether it was. */
  byClick?: boolean;
}

/** What Google says about a request it accepted earlier; record_verdicts takes it. */
export interface VerdictAnswer {
  status: "PROCESSING" | "SUCCESS" | "PARTIAL_SUCCESS" | "FAILED" | "LOST";
  verdicts: RowVerdict[];
  /** The verdict of every row that `verdicts` does not name; null while Google is still at work. */
  rest: "CONFIRMED" | "UNKNOWN" | null;
  block?: ProviderBlock;
}

/** One thing a connection test looked at. */
export interface ConnectionCheck {
  name: "oauth" | "data_manager_scope" | "ads_api_scope" | "data_manager" | "ads_api" | "ads_api_upload" | "ads_api_adjustments";
  ok: boolean;
  /** Without it conversions of this site cannot be sent at all. Otherwise only part of the work becomes work for a person. */
  isRequired: boolean;
  /** Only the conversion action is refused: the credentials and the account were let through. */
  isOfAction?: boolean;
  code?: string;
  message?: string;
}

export interface ConnectionTest {
  /** Every required check passed. */
  ok: boolean;
  checks: ConnectionCheck[];
  /** The account as Google names it, where it let us look. */
  account?: { name: string | null; currency: string | null; timezone: string | null; conversionCustomerId: string | null };
  /** The first required check that failed. */
  error?: ProviderBlock;
}

interface ConversionAction {
  action: string;
  name: string;
  /** MANY_PER_CLICK or ONE_PER_CLICK. */
  countingType: string | null;
  type: string | null;
  isEnabled: boolean;
}

export interface ConversionActionList {
  actions: ConversionAction[];
  /** Google did not let us read the list; somebody types the action's name instead. */
  refused?: ProviderBlock;
}

/**
 * An ad platform. 400, 401 and 403 are results. A rate limit throws ProviderRateLimitError; 5xx, timeout and a lost connection
 * throw ProviderTransientError. Both carry what was decided before.
 */
export interface Provider {
  uploadConversions(jobs: ConversionJob[], connection: ProviderConnection, signal?: AbortSignal): Promise<Upload>;
  readVerdicts(
    request: { requestId: string; rowCount: number },
    connection: ProviderConnection,
    signal?: AbortSignal,
  ): Promise<VerdictAnswer>;
  testConnection(connection: ProviderConnection, signal?: AbortSignal): Promise<ConnectionTest>;
  listConversionActions(connection: ProviderConnection, signal?: AbortSignal): Promise<ConversionActionList>;
  /** A dry run: COMPLETED means that Google would take the row as it stands. */
  validateConversion(job: ConversionJob, connection: ProviderConnection, signal?: AbortSignal): Promise<Upload>;
}
