import type { QuotaEnd } from "#lib/providers/port.ts";
import type { GoogleError } from "./read-errors.ts";

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
export function later(waitMs: number): Date {
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
