import type { QueueRowStory } from "./control-shapes.ts";

/**
 * How a correction or a cancellation of a sale reaches Google. unsent: nothing was sent yet. rejected: Google did not take what was sent.
 * blocked: Google never gets the sale.
 * late: Google takes no change any more. byHand: a person makes it in Google Ads. afterVerdict: once Google confirmed the conversion.
 * tomorrow: a day after the script or a person sent it. automatic: with the next run.
 */
export const adjustmentPaths = ["unsent", "rejected", "blocked", "late", "byHand", "afterVerdict", "tomorrow", "automatic"] as const;
export type AdjustmentPath = (typeof adjustmentPaths)[number];

const dayMs = 86_400_000;

/** The same rule as private.adjustment_bases, told before the change is made. SQL decides; this only says what will happen. */
export function adjustmentPath(
  { deliveryBlock, atGoogle, adjustableUntil }: Pick<QueueRowStory["sale"], "deliveryBlock" | "atGoogle" | "adjustableUntil">,
  { syncMethod, wasRejected, now }: { syncMethod: "script" | "api"; wasRejected: boolean; now: Date },
): AdjustmentPath {
  if (deliveryBlock) return "blocked";
  if (!atGoogle || atGoogle.kind === "RETRACT") return wasRejected ? "rejected" : "unsent";
  if (Date.parse(adjustableUntil) <= now.getTime()) return "late";
  if (syncMethod === "script" || atGoogle.isWbraidOnly) return "byHand";
  if (atGoogle.transport === "data_manager" && atGoogle.verdict === null) return "afterVerdict";
  const isFresh = now.getTime() - Date.parse(atGoogle.at) < dayMs;
  return (atGoogle.transport === "script" || atGoogle.transport === "by_hand") && isFresh ? "tomorrow" : "automatic";
}

/** Whole days until Google takes no change any more; 0 on the last day, null after it. */
export function adjustmentDaysLeft(adjustableUntil: string, now: Date): number | null {
  const left = Date.parse(adjustableUntil) - now.getTime();
  return left <= 0 ? null : Math.floor(left / dayMs);
}
