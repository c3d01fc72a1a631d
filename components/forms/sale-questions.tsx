"use client";

import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { Button } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { AmountReadings } from "./amount-readings.tsx";
import { MoneyInput } from "./money-input.tsx";
import type { SaleDialogsProps } from "./sale-dialogs.tsx";
import { useAmount } from "./use-amount.ts";

type DialogProps = Omit<SaleDialogsProps, "asked" | "onAsk"> & { open: boolean; onOpenChange: (open: boolean) => void };

export function CorrectDialog({ sale, path, date, money, onCorrect, pending = false, open, onOpenChange }: DialogProps) {
  const t = useTranslations("oci.adjust");
  const word = useTranslations();
  const paid = useAmount(sale.currency, "", sale.amountCents);
  const [isTried, setTried] = useState(false);
  const amount = money(sale.amountCents, sale.currency);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setTried(true);
    if (paid.cents !== null) onCorrect(paid.cents, String(new FormData(event.currentTarget).get("reason") ?? ""));
  };
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title={t("correctTitle")}
      description={`${t("now", { amount })} ${t(`correctPaths.${path}`, { date })}`}
    >
      <form className="grid gap-4" onSubmit={submit}>
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
        <Field label={word("labels.reason")} hint={t("reasonHint")}>
          {(control) => <Input {...control} name="reason" maxLength={200} />}
        </Field>
        <DialogFoot>
          <DialogClose render={<Button />}>{t("keepAmount", { amount })}</DialogClose>
          <SubmitButton tone="primary" pending={pending}>
            {paid.cents === null ? word("actions.correct") : t("correctTo", { amount: money(paid.cents, sale.currency) })}
          </SubmitButton>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

export function CancelDialog({ sale, path, date, money, onCancel, pending = false, open, onOpenChange }: DialogProps) {
  const t = useTranslations();
  const [reason, setReason] = useState("");
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={onOpenChange}
      title={t("oci.adjust.cancelTitle", { amount: money(sale.amountCents, sale.currency) })}
      description={t(`oci.adjust.cancelPaths.${path}`, { date })}
      confirm={t("actions.cancelSale")}
      cancel={t("oci.adjust.keep")}
      pending={pending}
      onConfirm={() => onCancel(reason)}
    >
      <Field label={t("labels.reason")} hint={t("oci.adjust.reasonHint")}>
        {(control) => <Input {...control} value={reason} maxLength={200} onChange={(event) => setReason(event.target.value)} />}
      </Field>
    </ConfirmDialog>
  );
}
