/** What a person does in Google's own pages with a conversion that Google has: gives it another value, or takes it back. */
import { changeConversion } from "./book.ts";
import type { Sim } from "./sim.ts";
import type { SentRow } from "./sim-shapes.ts";

export interface HandAdjustment {
  customerId: string;
  actionId: string;
  orderId: string;
  /** Null takes the conversion back. */
  value: number | null;
}

export function adjustByHand(sim: Sim, { customerId, actionId, orderId, value }: HandAdjustment): { isFound: boolean; row: SentRow } {
  const known = sim.store.get("conversions", `${customerId}/${actionId}/${orderId}`);
  const isFound = known !== undefined && !known.isRetracted;
  if (isFound) changeConversion(sim, known, value === null ? { isRetracted: true } : { value, restatedAt: sim.now() });
  const kind = value === null ? "RETRACTION" : "RESTATEMENT";
  return { isFound, row: { orderId, action: actionId, kind, value, currency: null, outcome: isFound ? "COUNTED" : "NOT_FOUND" } };
}
