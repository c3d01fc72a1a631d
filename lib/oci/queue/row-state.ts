import { causeOf } from "./causes.ts";
import type { QueueRowStory } from "./row-story.ts";
import type { QueueRow } from "./rows.ts";
import type { QueueStats } from "./stats.ts";

export type RowState = QueueRow["status"] | "STUCK" | "CONFIRMED" | "BLOCKED";

/** A claim that old has lost whoever held it; recovery takes the row back. */
const stuckAfterMinutes = 15;

const isStuck = (row: QueueRow, now: Date) =>
  row.status === "PROCESSING" && row.claimedAt !== null && now.getTime() - Date.parse(row.claimedAt) > stuckAfterMinutes * 60_000;

/** Which providers nothing can be sent to: they refuse our access, or the site is not connected. */
export const blockedProviders = ({ perProvider, connected }: Pick<QueueStats, "perProvider" | "connected">): ReadonlySet<string> =>
  new Set(perProvider.filter(({ blocked }) => blocked !== null || connected === false).map(({ provider }) => provider));

/** Why a row was let wait without asking Google: the circuit is open, too much is being sent. Null for a row that was tried. */
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

/** The state in which a row is shown: stuck and blocked are views of the stored one, confirmed is Google's word beside it. */
export function rowState(row: QueueRow, blocked: ReadonlySet<string>, now: Date): RowState {
  if (isStuck(row, now)) return "STUCK";
  if (row.status === "COMPLETED") return row.verdict === "CONFIRMED" ? "CONFIRMED" : "COMPLETED";
  const waits = row.status === "QUEUED" || row.status === "RETRY";
  if (blocked.has(row.provider) && (waits || row.providerErrorCategory === "AUTH")) return "BLOCKED";
  return row.status;
}

/** A correction of what Google has is a person's work where the script sends, and where no API can make it. */
export const isManual = (row: Pick<QueueRow, "kind" | "byHandReason">, syncMethod: "script" | "api") =>
  row.kind !== "CONVERSION" && (syncMethod === "script" || row.byHandReason !== null);

/** Such work that waits to be done. */
export const isByHand = (row: Pick<QueueRow, "kind" | "status" | "byHandReason">, syncMethod: "script" | "api") =>
  isManual(row, syncMethod) && (row.status === "QUEUED" || row.status === "RETRY");

/** Money of several rows, per currency. */
export function sumByCurrency(rows: readonly Pick<QueueRow, "currency" | "valueCents">[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { currency, valueCents } of rows) sums[currency] = (sums[currency] ?? 0) + valueCents;
  return sums;
}

type Failed = QueueStats["failedCauses"][number];

/** Failed, and somebody must decide. What was rightly not sent, what nobody can mend and what a person gave up asks nobody any more. */
export function asksSomebody({ code, category }: Pick<Failed, "code" | "category">): boolean {
  const { name, fixer } = causeOf(code);
  return category !== "DETERMINISTIC_SKIP" && fixer !== "nobody" && name !== "givenUp";
}

/** How many were rightly not sent: the sale was cancelled, a later value took its place. They are stored as FAILED and are no failure. */
export const rightlyNotSent = ({ failedCauses }: Pick<QueueStats, "failedCauses">) =>
  failedCauses.filter(({ category }) => category === "DETERMINISTIC_SKIP").reduce((sum, { count }) => sum + count, 0);

/** How many conversions need a person: failures and rejections that ask somebody, stuck ones, and corrections that are made by hand. */
export const needsPerson = ({
  failedCauses,
  rejectedCauses,
  stuckProcessing,
  waitingByHand,
}: Pick<QueueStats, "failedCauses" | "rejectedCauses" | "stuckProcessing" | "waitingByHand">) =>
  [...failedCauses, ...rejectedCauses].filter(asksSomebody).reduce((sum, { count }) => sum + count, 0) + stuckProcessing + waitingByHand;

type Sent = Pick<QueueRowStory["dispatches"][number], "at" | "nextCheckAt">;

/**
 * Where a conversion without a verdict stands. first: Google is asked for the first time. again: it was asked, and is asked once more.
 * due: with the next run. none: nobody asks any more.
 */
export function verdictWait({ at, nextCheckAt }: Sent, { firstPollSeconds, now }: { firstPollSeconds: number; now: Date }) {
  if (nextCheckAt === null) return "none";
  if (Date.parse(nextCheckAt) <= now.getTime()) return "due";
  return Date.parse(nextCheckAt) - Date.parse(at) <= firstPollSeconds * 1000 ? "first" : "again";
}
