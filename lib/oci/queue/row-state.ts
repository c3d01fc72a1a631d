import type { QueueAction } from "#lib/oci/queue-types.ts";
import { causeOf } from "./causes.ts";
import type { QueueRowStory } from "./row-story.ts";
import type { QueueRow } from "./rows.ts";
import type { QueueStats } from "./stats.ts";

export type RowState = QueueRow["status"] | "STUCK" | "CONFIRMED" | "BLOCKED" | "NOT_SENT";

/** Why a row is closed on purpose before it is sent (SQL: not_sent_codes). */
export const notSentCodes = ["SALE_CANCELLED", "SUPERSEDED", "NO_CONSENT"] as const;

/** Closed on purpose before it was sent: the sale was cancelled, undone or changed. Stored as FAILED, but no failure. */
export const isNotSent = ({ status, providerErrorCategory }: Pick<QueueRow, "status" | "providerErrorCategory">) =>
  status === "FAILED" && providerErrorCategory === "DETERMINISTIC_SKIP";

/** A claim this old is presumed dead; the recovery sweep requeues the row. */
const stuckAfterMinutes = 15;

const isStuck = (row: QueueRow, now: Date) =>
  row.status === "PROCESSING" && row.claimedAt !== null && now.getTime() - Date.parse(row.claimedAt) > stuckAfterMinutes * 60_000;

/** Which providers nothing can be sent to: they refuse our access, or the site is not connected. */
export const blockedProviders = ({ perProvider, connected }: Pick<QueueStats, "perProvider" | "connected">): ReadonlySet<string> =>
  new Set(perProvider.filter(({ blocked }) => blocked !== null || connected === false).map(({ provider }) => provider));

/** Why a row was deferred without asking Google: the circuit is open, or too many uploads run. Null for a row that was tried. */
export const deferralOf = (row: Pick<QueueRow, "status" | "providerErrorCode" | "attemptErrorCode">): string | null =>
  row.status === "RETRY" && row.providerErrorCode !== row.attemptErrorCode ? row.providerErrorCode : null;

/** A deferral that lasts until somebody fixes its cause: the stored access cannot be opened. Null for one that ends by itself. */
export function obstacleOf(row: Parameters<typeof deferralOf>[0]): string | null {
  const deferral = deferralOf(row);
  return deferral !== null && ["host", "owner"].includes(causeOf(deferral).fixer) ? deferral : null;
}

/** What the last real attempt met. An attempt that threw has no code: Google did not answer. */
export function reasonOf(row: QueueRow): string | null {
  if (row.status !== "RETRY") return row.providerErrorCode;
  return row.attemptErrorCode ?? (row.attemptError === null ? null : "TRANSIENT_ERROR");
}

/** The state in which a row is shown: stuck, blocked and not sent are derived from the stored one, confirmed from Google's verdict. */
export function rowState(row: QueueRow, blocked: ReadonlySet<string>, now: Date): RowState {
  if (isStuck(row, now)) return "STUCK";
  if (isNotSent(row)) return "NOT_SENT";
  if (row.status === "COMPLETED") return row.verdict === "CONFIRMED" ? "CONFIRMED" : "COMPLETED";
  const waits = row.status === "QUEUED" || row.status === "RETRY";
  if (blocked.has(row.provider) && (waits || row.providerErrorCategory === "AUTH")) return "BLOCKED";
  return row.status;
}

/** A correction of what Google has is a person's work where the script sends, and where no API can make it. */
export const isManual = (row: Pick<QueueRow, "kind" | "byHandReason">, syncMethod: "script" | "api") =>
  row.kind !== "CONVERSION" && (syncMethod === "script" || row.byHandReason !== null);

/** Such a correction that is still to be made. */
export const isByHand = (row: Pick<QueueRow, "kind" | "status" | "byHandReason">, syncMethod: "script" | "api") =>
  isManual(row, syncMethod) && (row.status === "QUEUED" || row.status === "RETRY");

/** A failure that sending again cannot change: the click is too old, Google does not know it, the visitor refused. */
export const isUnfixable = (row: Pick<QueueRow, "status" | "providerErrorCode">, syncMethod: "script" | "api") =>
  row.status === "FAILED" && causeOf(row.providerErrorCode ?? "", syncMethod).cure === "none";

/** The rows that an action on a selection takes. A retry leaves out what it cannot move and what it cannot fix. */
export const rowsToTake = (action: QueueAction, rows: readonly QueueRow[], syncMethod: "script" | "api") =>
  action === "RETRY_SELECTED" ? rows.filter((row) => row.allowedActions.includes(action) && !isUnfixable(row, syncMethod)) : rows;

/** Money of several rows, per currency. */
export function sumByCurrency(rows: readonly Pick<QueueRow, "currency" | "valueCents">[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { currency, valueCents } of rows) sums[currency] = (sums[currency] ?? 0) + valueCents;
  return sums;
}

type Failed = QueueStats["failedCauses"][number];

/** Failed, and somebody must decide. Ignores rows skipped on purpose, rows nobody can fix, and rows an operator gave up on. */
export function asksSomebody({ code, category }: Pick<Failed, "code" | "category">): boolean {
  const { name, fixer } = causeOf(code);
  return category !== "DETERMINISTIC_SKIP" && fixer !== "nobody" && name !== "givenUp";
}

/** How many conversions need a person: failures and rejections that somebody must decide on, stuck rows, and corrections to be made by hand. */
export const needsPerson = ({
  failedCauses,
  rejectedCauses,
  stuckProcessing,
  waitingByHand,
}: Pick<QueueStats, "failedCauses" | "rejectedCauses" | "stuckProcessing" | "waitingByHand">) =>
  [...failedCauses, ...rejectedCauses].filter(asksSomebody).reduce((sum, { count }) => sum + count, 0) + stuckProcessing + waitingByHand;

type Sent = Pick<QueueRowStory["dispatches"][number], "at" | "nextCheckAt">;

/**
 * When Google is asked about a conversion without a verdict. first: for the first time. again: it was asked, and is asked once more.
 * due: with the next run. none: it is not asked any more.
 */
export function verdictWait({ at, nextCheckAt }: Sent, { firstPollSeconds, now }: { firstPollSeconds: number; now: Date }) {
  if (nextCheckAt === null) return "none";
  if (Date.parse(nextCheckAt) <= now.getTime()) return "due";
  return Date.parse(nextCheckAt) - Date.parse(at) <= firstPollSeconds * 1000 ? "first" : "again";
}
