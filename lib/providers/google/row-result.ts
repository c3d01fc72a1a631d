import type { ApiTransport, ConversionJob, QuotaEnd, UploadResult } from "#lib/providers/port.ts";
import { bareCode, classifyGoogleAdsError, type ErrorRule } from "./classify-google-ads-error.ts";
import type { GoogleError } from "./read-errors.ts";

export interface AnswerContext {
  transport: ApiTransport;
  /** 200 for the errors of single rows. */
  httpStatus: number;
  requestId?: string;
  /** The site delivers by Data Manager, so a refusal of the Ads API costs only that correction. */
  isAdsApiOptional?: boolean;
}

const messageMax = 500;
const refusedRow: ErrorRule = { status: "FAILED", category: "VALIDATION" };

/** What a code means depends on the row in three cases; the table has the others. */
function ruleFor(job: ConversionJob, { code, family }: GoogleError, { httpStatus, isAdsApiOptional }: AnswerContext): ErrorRule {
  const rule = classifyGoogleAdsError(code, httpStatus, family);
  const bare = bareCode(code);
  if (bare === "CONVERSION_ALREADY_RETRACTED" && job.kind !== "RETRACT") return refusedRow;
  if (rule.isByClick && !job.mayHaveArrived) return refusedRow;
  if (bare === "CLICK_NOT_FOUND" && (job.gclid || job.gbraid || job.wbraid)) return refusedRow;
  // Only a dead token also stops Data Manager. Data Manager itself says whether it takes the action.
  return isAdsApiOptional && (rule.blocksAccount || rule.blocksAction) && !rule.isOfToken ? { ...rule, lacksAccess: true } : rule;
}

/** With several errors the worst decides. "Google has the conversion" outranks all: the others then say why it is not taken twice. */
function rank(rule: ErrorRule): number {
  const order = [
    rule.isDuplicate,
    rule.blocksAccount,
    rule.blocksAction,
    rule.status === "FAILED",
    rule.status === "RETRY" && !rule.isFreeWait,
    rule.status === "RETRY",
  ];
  const place = order.indexOf(true);
  return place < 0 ? order.length : place;
}

function messageOf(errors: readonly GoogleError[]): string {
  return errors
    .map(({ code, message }) => (message ? `${code}: ${message}` : code))
    .join("; ")
    .slice(0, messageMax);
}

/** The result of a row, from the errors about it. */
export function rowResult(job: ConversionJob, errors: readonly GoogleError[], context: AnswerContext): UploadResult {
  const judged = errors.map((error) => ({ code: bareCode(error.code), field: error.field, rule: ruleFor(job, error, context) }));
  const worst = judged.toSorted((a, b) => rank(a.rule) - rank(b.rule))[0];
  const { transport, requestId } = context;
  const base = { id: job.id, transport, ...(requestId && { requestId }) };
  if (!worst) return { ...base, status: "RETRY", category: "TRANSIENT", code: "UNKNOWN" };
  const { rule, code, field } = worst;
  const named = { ...base, code, message: messageOf(errors), ...(field && { field }) };
  if (rule.lacksAccess && job.kind !== "CONVERSION") return { ...named, status: "RETRY", category: "AUTH", byHand: "NO_ADS_API_ACCESS" };
  if (rule.isDuplicate) return { ...named, status: "COMPLETED", verdict: "DUPLICATE" };
  if (rule.status === "COMPLETED") return { ...named, status: "COMPLETED" };
  return {
    ...named,
    status: rule.status,
    category: rule.category,
    ...(rule.status === "RETRY" && waitOf(rule, errors)),
    ...(rule.status === "RETRY" && !rule.isProviderFailure && { isJudged: true }),
    ...(rule.blocksAction && !context.isAdsApiOptional && { blocksAction: true }),
  };
}

function waitOf(rule: ErrorRule, errors: readonly GoogleError[]): Pick<UploadResult, "retryAt" | "isFreeWait"> {
  if (rule.category === "RATE_LIMIT") {
    const { isFree, quota } = quotaWait(errors);
    return { ...(quota && { retryAt: quota.until }), ...(isFree && { isFreeWait: true }) };
  }
  return { ...(rule.waitHours && { retryAt: later(rule.waitHours * 3_600_000) }), ...(rule.isFreeWait && { isFreeWait: true }) };
}

/** From this length on, Google asks us to wait; below it is an ordinary rate limit. */
const freeFromMs = 10 * 60_000;
/** For a daily quota without a time: Google's day ends somewhere in the next 24 hours, and a row has 20 free waits. */
const dailyWaitMs = 6 * 60 * 60_000;
/** After a daily quota we ask so rarely that a row's 20 free waits outlast the day, whatever delay Google names. */
const dailyWaitMinMs = 75 * 60_000;
/** No answer stops a site for longer: quotas end with Google's day, and a larger number is a mistake. */
const waitMaxMs = 24 * 60 * 60_000;
/** Data Manager names the period. The Ads API counts operations a day by access level: "Number of operations for explorer access". */
const daily = /per.?day|daily|operations for \w+ access/i;

export interface QuotaWait {
  isFree: boolean;
  quota?: QuotaEnd;
}

/** Up to a tenth more, so that the rows of many sites do not come back in the same second. */
function later(waitMs: number): Date {
  return new Date(Date.now() + waitMs + Math.random() * Math.min(waitMs / 10, 15 * 60_000));
}

/** How long a quota error asks us to wait. */
export function quotaWait(errors: readonly GoogleError[]): QuotaWait {
  const delays = errors.flatMap(({ retryDelayMs }) => (retryDelayMs === undefined ? [] : [retryDelayMs]));
  const delayMs = delays.length > 0 ? Math.max(...delays) : undefined;
  const isDaily = errors.some(({ quotaName }) => quotaName && daily.test(quotaName));
  const waitMs = isDaily ? Math.max(delayMs ?? dailyWaitMs, dailyWaitMinMs) : delayMs;
  return {
    isFree: isDaily || (waitMs ?? 0) >= freeFromMs,
    ...(waitMs !== undefined && {
      quota: { until: later(Math.min(waitMs, waitMaxMs)), isShared: errors.some(({ isQuotaShared }) => isQuotaShared) },
    }),
  };
}
