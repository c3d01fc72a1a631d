import type { QueueRowStory } from "./row-story.ts";

/**
 * How a correction or a cancellation of a sale reaches Google. unsent: nothing was sent yet. inFlight: it is being sent now, as it was.
 * rejected: Google did not take what was sent. blocked: Google never gets the sale.
 * late: Google takes no change any more. byHand: a person makes it in Google Ads. afterVerdict: once Google confirmed the conversion.
 * tomorrow: a day after the script or a person sent it. automatic: with the next run.
 */
export const adjustmentPaths = [
  "unsent",
  "inFlight",
  "rejected",
  "blocked",
  "late",
  "byHand",
  "afterVerdict",
  "tomorrow",
  "automatic",
] as const;
export type AdjustmentPath = (typeof adjustmentPaths)[number];

type Standing = NonNullable<QueueRowStory["sale"]["atGoogle"]>;
interface Adjustable {
  deliveryBlock: string | null;
  adjustableUntil: string;
  atGoogle: Pick<Standing, "kind" | "transport" | "at" | "verdict" | "isWbraidOnly" | "isElsewhere"> | null;
}
interface Circumstances {
  syncMethod: "script" | "api";
  /** Google rejected a conversion of the sale. */
  wasRejected: boolean;
  /** A claimed conversion of the sale has no answer yet. */
  isInFlight: boolean;
  now: Date;
}

const dayMs = 86_400_000;

/** The same rule as follow_ledger and adjustment_bases, shown before the change is made. SQL decides; this only says what will happen. */
export function adjustmentPath(
  { deliveryBlock, atGoogle, adjustableUntil }: Adjustable,
  { syncMethod, wasRejected, isInFlight, now }: Circumstances,
): AdjustmentPath {
  if (deliveryBlock) return "blocked";
  if (!atGoogle || atGoogle.kind === "RETRACT") return isInFlight ? "inFlight" : wasRejected ? "rejected" : "unsent";
  if (Date.parse(adjustableUntil) <= now.getTime()) return "late";
  if (syncMethod === "script" || atGoogle.isWbraidOnly || atGoogle.isElsewhere) return "byHand";
  if (atGoogle.transport === "data_manager" && atGoogle.verdict === null) return "afterVerdict";
  const isFresh = now.getTime() - Date.parse(atGoogle.at) < dayMs;
  return (atGoogle.transport === "script" || atGoogle.transport === "by_hand") && isFresh ? "tomorrow" : "automatic";
}

/** Whole days until Google takes no change any more; 0 on the last day, null after it. */
export function adjustmentDaysLeft(adjustableUntil: string, now: Date): number | null {
  const left = Date.parse(adjustableUntil) - now.getTime();
  return left <= 0 ? null : Math.floor(left / dayMs);
}
