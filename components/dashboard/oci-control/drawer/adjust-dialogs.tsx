"use client";

import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { MoneyInput } from "#components/desk/seal/money-input.tsx";
import { AmountReadings } from "#components/forms/amount-readings.tsx";
import { useAmount } from "#components/forms/use-amount.ts";
import { useSend } from "#components/forms/use-send.ts";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Button } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { Dialog, DialogClose } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
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
  useBackCloses(open, () => onOpenChange(false));
  const t = useTranslations("oci.adjust");
  const format = useControlFormat();
  const { change, pending } = useSaleChange({ sale, onOpenChange, onChanged });
  const paid = useAmount(sale.currency, "", sale.amountCents);
  const [isTried, setTried] = useState(false);
  const amount = format.money(sale.amountCents, sale.currency);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setTried(true);
    const { cents } = paid;
    if (cents === null) return;
    const done = t("corrected", { amount: format.money(cents, sale.currency) });
    void change("correct", String(new FormData(event.currentTarget).get("reason") ?? ""), done, { amountCents: cents });
  };
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t("correctTitle")} description={`${t("now", { amount })} ${consequence}`}>
      <form className="stack stack-4" onSubmit={submit}>
        <Field label={t("amount")} error={(isTried && paid.problem) || undefined}>
          {(control) => (
            <MoneyInput
              {...control}
              value={paid.text}
              onChange={(event) => paid.setText(event.target.value)}
              currency={sale.currency}
              autoFocus
            />
          )}
        </Field>
        <AmountReadings amount={paid} />
        <Field label={t("reason")} hint={t("reasonHint")}>
          {(control) => <Input {...control} name="reason" maxLength={200} />}
        </Field>
        <div className="dialog-f">
          <DialogClose render={<Button />}>{t("keepAmount", { amount })}</DialogClose>
          <SubmitButton tone="primary" pending={pending}>
            {paid.cents === null ? t("correct") : t("correctTo", { amount: format.money(paid.cents, sale.currency) })}
          </SubmitButton>
        </div>
      </form>
    </Dialog>
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
