import type { UndoStep } from "#lib/contracts/undo-step.ts";
import type { DeskLead, DeskRules } from "#lib/leads/desk-shapes.ts";
import { sendTime } from "./list/lead-state.ts";

/** How a lead looks after a change, before the server has answered. */

export const undoMs = 10 * 60_000;
const dayMs = 86_400_000;

export interface SealDraft {
  /** Null: the site's expected value, marked as such. */
  amountCents: number | null;
  /** What the button says, also when the server chooses the amount. */
  shownCents: number;
  currency: string;
  note: string;
}

/** The step that was just made; the server names its proof when it answers. */
export const expectedStep = (kind: UndoStep["kind"], now: Date, facts: Partial<UndoStep> = {}): UndoStep => ({
  proofId: "",
  kind,
  until: new Date(now.getTime() + undoMs).toISOString(),
  byYou: true,
  amountCents: null,
  beforeCents: null,
  currency: null,
  ...facts,
});

/** How a sealed lead goes to Google. What an earlier sale of it met is over. */
export function expectedDelivery(lead: DeskLead, rules: DeskRules, now: Date): DeskLead["delivery"] {
  if (lead.clickBlock) return null;
  const notBefore = sendTime(lead, rules, now).at.toISOString();
  return { status: "QUEUED", isNotSent: false, notBefore, errorCode: null, uploadedAt: null, verdict: null, pendingAdjustment: null };
}

export function expectedSale(lead: DeskLead, { amountCents, shownCents, currency, note }: SealDraft): NonNullable<DeskLead["sale"]> {
  return {
    id: lead.sale?.id ?? "",
    version: 0,
    status: "CONFIRMED",
    amountCents: shownCents,
    currency,
    isPredicted: amountCents === null,
    deliveryBlock: lead.clickBlock,
    note: note.trim() || null,
    adjustableUntil: new Date(Date.parse(lead.calledAt) + 54 * dayMs).toISOString(),
    atGoogle: null,
  };
}
