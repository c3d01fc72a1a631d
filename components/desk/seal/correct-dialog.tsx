"use client";

import { useTranslations } from "next-intl";
import { CorrectAmountDialog } from "#components/forms/correct-amount-dialog.tsx";
import type { DeskLead, DeskSale } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { useLeadWords } from "../list/use-lead-words.ts";
import { useConsequence } from "./use-consequence.ts";

interface SaleDialogProps {
  lead: DeskLead;
  sale: DeskSale;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** Asks what a sealed sale was really worth, and says what Google will be told of it. */
export function CorrectDialog({ lead, sale, open, onOpenChange }: SaleDialogProps) {
  const t = useTranslations("desk");
  const { format, actions } = useDesk();
  const words = useLeadWords();
  const consequence = useConsequence(lead, sale);
  const correct = (cents: number, reason: string) => {
    onOpenChange(false);
    actions.correct(lead, cents, reason);
  };
  return (
    <CorrectAmountDialog
      title={t("correct.title", { who: words.who(lead) })}
      sale={sale}
      consequence={consequence("correct")}
      money={format.money}
      onCorrect={correct}
      open={open}
      onOpenChange={onOpenChange}
    />
  );
}
