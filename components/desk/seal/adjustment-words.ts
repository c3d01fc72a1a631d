import type { DeskLead, DeskRules, DeskSale } from "#lib/leads/desk-shapes.ts";

export type AdjustmentCase = "unsent" | "api" | "script" | "late" | "blocked";

/** What a change of a sealed sale means for Google. Google takes one for 54 days after the conversion. */
export function adjustmentCase({ delivery }: DeskLead, sale: DeskSale, rules: DeskRules, now: Date): AdjustmentCase {
  if (sale.deliveryBlock) return "blocked";
  if (delivery?.status !== "COMPLETED") return "unsent";
  if (Date.parse(sale.adjustableUntil) < now.getTime()) return "late";
  return rules.syncMethod;
}
