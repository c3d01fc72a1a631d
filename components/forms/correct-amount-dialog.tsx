"use client";

import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Button } from "#components/ui/button.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { AmountReadings } from "./amount-readings.tsx";
import { MoneyInput } from "./money-input.tsx";
import { useAmount } from "./use-amount.ts";

interface CorrectAmountDialogProps {
  title: string;
  sale: { amountCents: number; currency: string };
  /** What Google gets to know of it. */
  consequence: string;
  money: (cents: number, currency: string) => string;
  onCorrect: (cents: number, reason: string) => void;
  pending?: boolean;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** Asks what a sealed sale was really worth. */
export function CorrectAmountDialog({ title, sale, consequence, money, onCorrect, pending = false, ...shown }: CorrectAmountDialogProps) {
  useBackCloses(shown.open, () => shown.onOpenChange(false));
  const t = useTranslations("oci.adjust");
  const paid = useAmount(sale.currency, "", sale.amountCents);
  const [isTried, setTried] = useState(false);
  const amount = money(sale.amountCents, sale.currency);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setTried(true);
    if (paid.cents !== null) onCorrect(paid.cents, String(new FormData(event.currentTarget).get("reason") ?? ""));
  };
  return (
    <Dialog {...shown} title={title} description={`${t("now", { amount })} ${consequence}`}>
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
        <Field label={t("reason")} hint={t("reasonHint")}>
          {(control) => <Input {...control} name="reason" maxLength={200} />}
        </Field>
        <DialogFoot>
          <DialogClose render={<Button />}>{t("keepAmount", { amount })}</DialogClose>
          <SubmitButton tone="primary" pending={pending}>
            {paid.cents === null ? t("correct") : t("correctTo", { amount: money(paid.cents, sale.currency) })}
          </SubmitButton>
        </DialogFoot>
      </form>
    </Dialog>
  );
}
