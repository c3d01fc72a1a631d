"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { CorrectAmountDialog } from "#components/forms/correct-amount-dialog.tsx";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { useServerTime } from "#components/workbench/live/clock.tsx";
import type { DeskLead, DeskSale } from "#lib/leads/desk-shapes.ts";
import { adjustmentPath } from "#lib/oci/queue/adjustment-path.ts";
import { useDesk } from "../desk-context.tsx";
import { useLeadWords } from "../list/use-lead-words.ts";

interface SaleDialogProps {
  lead: DeskLead;
  sale: DeskSale;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** What a change of a sealed sale means for Google, in a sentence: by what Google has of this sale, as OCI Control says it. */
function useConsequence({ delivery }: DeskLead, sale: DeskSale): (change: "correct" | "cancel") => string {
  const t = useTranslations("oci.adjust");
  const { format, rules } = useDesk();
  const serverTime = useServerTime();
  return (change) => {
    const path = adjustmentPath(sale, {
      syncMethod: rules.syncMethod,
      wasRejected: delivery?.verdict === "REJECTED",
      isInFlight: delivery?.status === "PROCESSING",
      now: serverTime(),
    });
    return t(`${change}Paths.${path}`, { date: format.date(sale.adjustableUntil) });
  };
}

/** Asks what a sealed sale was really worth. */
export function CorrectDialog({ lead, sale, open, onOpenChange }: SaleDialogProps) {
  const t = useTranslations("desk.correct");
  const { format, actions } = useDesk();
  const words = useLeadWords();
  const consequence = useConsequence(lead, sale);
  const correct = (cents: number, reason: string) => {
    onOpenChange(false);
    actions.correct(lead, cents, reason);
  };
  return (
    <CorrectAmountDialog
      title={t("title", { who: words.who(lead) })}
      sale={sale}
      consequence={consequence("correct")}
      money={format.money}
      onCorrect={correct}
      open={open}
      onOpenChange={onOpenChange}
    />
  );
}

/** A sealed sale did not happen after all. */
export function CancelDialog({ lead, sale, open, onOpenChange }: SaleDialogProps) {
  useBackCloses(open, () => onOpenChange(false));
  const t = useTranslations("oci.adjust");
  const { format, actions } = useDesk();
  const consequence = useConsequence(lead, sale);
  const [reason, setReason] = useState("");
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={onOpenChange}
      title={t("cancelTitle", { amount: format.money(sale.amountCents, sale.currency) })}
      description={consequence("cancel")}
      confirm={t("cancel")}
      cancel={t("keep")}
      pending={false}
      onConfirm={() => {
        onOpenChange(false);
        actions.cancel(lead, reason);
      }}
    >
      <Field label={t("reason")} hint={t("reasonHint")}>
        {(control) => <Input {...control} value={reason} maxLength={200} onChange={(event) => setReason(event.target.value)} />}
      </Field>
    </ConfirmDialog>
  );
}
