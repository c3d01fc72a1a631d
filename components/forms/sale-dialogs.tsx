"use client";

import { useBackCloses } from "#components/history/use-back-closes.ts";
import { latePart } from "#components/ui/late-part.tsx";
import type { adjustmentPath } from "#lib/oci/queue/adjustment-path.ts";

export type SaleChange = "correct" | "cancel";

export interface SaleDialogsProps {
  sale: { amountCents: number; currency: string; version: number };
  /** How the change gets to Google, and until when Google accepts it. */
  path: ReturnType<typeof adjustmentPath>;
  date: string;
  money: (cents: number, currency: string) => string;
  /** What is asked now. */
  asked: SaleChange | null;
  onAsk: (change: SaleChange | null) => void;
  onCorrect: (cents: number, reason: string) => void;
  onCancel: (reason: string) => void;
  pending?: boolean;
}

const questions = () => import("./sale-questions.tsx");
const Correct = latePart(() => questions().then(({ CorrectDialog }) => CorrectDialog));
const Cancel = latePart(() => questions().then(({ CancelDialog }) => CancelDialog));

/** Asks what a sealed sale was really worth, or whether it did not happen after all, and says what is sent to Google. */
export function SaleDialogs({ asked, onAsk, ...sale }: SaleDialogsProps) {
  useBackCloses(asked !== null, () => onAsk(null));
  const shown = (change: SaleChange) => ({
    isWanted: asked === change,
    open: asked === change,
    onOpenChange: (open: boolean) => onAsk(open ? change : null),
  });
  return (
    <>
      <Correct.Part key={`correct-${sale.sale.version}`} {...sale} {...shown("correct")} />
      <Cancel.Part key={`cancel-${sale.sale.version}`} {...sale} {...shown("cancel")} />
    </>
  );
}
