"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { CorrectAmountDialog } from "#components/forms/correct-amount-dialog.tsx";
import { useSend } from "#components/forms/use-send.ts";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import type { QueueRowStory } from "#lib/oci/control-shapes.ts";

interface AdjustDialogProps {
  sale: QueueRowStory["sale"];
  /** What Google gets to know of it. */
  consequence: string;
  open: boolean;
  onOpenChange: (open: boolean) => void;
  onChanged: () => void;
}

/** The sale's own endpoints; the version refuses what somebody else changed meanwhile. */
function useSaleChange({ sale, onOpenChange, onChanged }: Omit<AdjustDialogProps, "open" | "consequence">) {
  const { site } = useControl();
  const { send, pending } = useSend();
  const change = (path: "correct" | "cancel", reason: string, done: string, more: { amountCents?: number } = {}) =>
    send({
      method: "POST",
      url: `/api/sites/${site.publicId}/sales/${sale.id}/${path}`,
      body: { ...more, ...(reason.trim() && { reason: reason.trim() }), expectedVersion: sale.version },
      done,
      onDone: () => {
        onOpenChange(false);
        onChanged();
      },
    });
  return { change, pending };
}

export function CorrectSaleDialog({ sale, consequence, open, onOpenChange, onChanged }: AdjustDialogProps) {
  const t = useTranslations("oci.adjust");
  const format = useControlFormat();
  const { change, pending } = useSaleChange({ sale, onOpenChange, onChanged });
  const correct = (amountCents: number, reason: string) =>
    void change("correct", reason, t("corrected", { amount: format.money(amountCents, sale.currency) }), { amountCents });
  return (
    <CorrectAmountDialog
      title={t("correctTitle")}
      sale={sale}
      consequence={consequence}
      money={format.money}
      onCorrect={correct}
      pending={pending}
      open={open}
      onOpenChange={onOpenChange}
    />
  );
}

export function CancelSaleDialog({ sale, consequence, open, onOpenChange, onChanged }: AdjustDialogProps) {
  useBackCloses(open, () => onOpenChange(false));
  const t = useTranslations("oci.adjust");
  const format = useControlFormat();
  const { change, pending } = useSaleChange({ sale, onOpenChange, onChanged });
  const [reason, setReason] = useState("");
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={onOpenChange}
      title={t("cancelTitle", { amount: format.money(sale.amountCents, sale.currency) })}
      description={consequence}
      confirm={t("cancel")}
      cancel={t("keep")}
      pending={pending}
      onConfirm={() => void change("cancel", reason, t("cancelled"))}
    >
      <Field label={t("reason")} hint={t("reasonHint")}>
        {(control) => <Input {...control} value={reason} maxLength={200} onChange={(event) => setReason(event.target.value)} />}
      </Field>
    </ConfirmDialog>
  );
}
