"use client";

import { useSend } from "#components/forms/use-send.ts";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { useNow } from "#components/workbench/live/clock.tsx";
import { UndoLabel } from "#components/workbench/undo-label.tsx";
import type { UndoStep } from "#lib/contracts/undo-step.ts";
import type { SiteId } from "#lib/site.ts";
import { useUndoWords } from "./use-undo-words.ts";

interface UndoSaleProps {
  siteId: SiteId;
  saleId: string;
  step: UndoStep | null;
  money: (cents: number, currency: string) => string;
  className?: string;
  onUndone?: () => void;
}

/** "Undo seal of ₺4,250 (6:12)" for a sale, by the server's clock, and nothing once it is over. */
export function UndoSaleButton({ siteId, saleId, step, money, className, onUndone }: UndoSaleProps) {
  const { send, pending } = useSend();
  const words = useUndoWords(money);
  const now = useNow(1000, step !== null);
  if (!step || Date.parse(step.until) <= now.getTime()) return null;
  const undo = () =>
    send({
      method: "POST",
      url: `/api/sites/${siteId}/sales/${saleId}/undo`,
      body: { proofId: step.proofId },
      done: (answer) => words.done(step, answer),
      ...(onUndone && { onDone: onUndone }),
    });
  return (
    <SubmitButton type="button" size="sm" className={className} pending={pending} onClick={undo}>
      <UndoLabel what={words.offer(step)} until={step.until} />
    </SubmitButton>
  );
}
