"use client";

import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Button } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { adjustmentPath } from "#lib/oci/queue/adjustment-path.ts";
import { AmountReadings } from "./amount-readings.tsx";
import { MoneyInput } from "./money-input.tsx";
import { useAmount } from "./use-amount.ts";

export type SaleChange = "correct" | "cancel";

interface SaleDialogsProps {
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

/** Asks what a sealed sale was really worth, or whether it did not happen after all, and says what is sent to Google. */
export function SaleDialogs({ asked, onAsk, ...sale }: SaleDialogsProps) {
  useBackCloses(asked !== null, () => onAsk(null));
  const shown = (change: SaleChange) => ({ open: asked === change, onOpenChange: (open: boolean) => onAsk(open ? change : null) });
  return (
    <>
      <CorrectDialog key={`correct-${sale.sale.version}`} {...sale} {...shown("correct")} />
      <CancelDialog key={`cancel-${sale.sale.version}`} {...sale} {...shown("cancel")} />
    </>
  );
}

type DialogProps = Omit<SaleDialogsProps, "asked" | "onAsk"> & { open: boolean; onOpenChange: (open: boolean) => void };

function CorrectDialog({ sale, path, date, money, onCorrect, pending = false, open, onOpenChange }: DialogProps) {
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

function CancelDialog({ sale, path, date, money, onCancel, pending = false, open, onOpenChange }: DialogProps) {
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
