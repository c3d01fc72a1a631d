"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import type { DeskLead, DeskSale } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { useConsequence } from "./use-consequence.ts";

interface CancelDialogProps {
  lead: DeskLead;
  sale: DeskSale;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** A sealed sale did not happen after all. */
export function CancelDialog({ lead, sale, open, onOpenChange }: CancelDialogProps) {
  useBackCloses(open, () => onOpenChange(false));
  const t = useTranslations("desk");
  const { format, actions } = useDesk();
  const consequence = useConsequence(lead, sale);
  const [reason, setReason] = useState("");
  const amount = format.money(sale.amountCents, sale.currency);
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={onOpenChange}
      title={t("cancel.title", { amount })}
      description={consequence("cancel")}
      confirm={t("cancel.confirm")}
      cancel={t("cancel.keep")}
      pending={false}
      onConfirm={() => {
        onOpenChange(false);
        actions.cancel(lead, reason);
      }}
    >
      <Field label={t("cancel.reason")} hint={t("correct.reasonHint")}>
        {(control) => <Input {...control} value={reason} maxLength={200} onChange={(event) => setReason(event.target.value)} />}
      </Field>
    </ConfirmDialog>
  );
}
