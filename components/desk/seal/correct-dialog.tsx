"use client";

import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { AmountReadings } from "#components/forms/amount-readings.tsx";
import { useAmount } from "#components/forms/use-amount.ts";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Button } from "#components/ui/button.tsx";
import { Dialog, DialogClose } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import type { DeskLead, DeskSale } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { useLeadWords } from "../list/use-lead-words.ts";
import { MoneyInput } from "./money-input.tsx";
import { useConsequence } from "./use-consequence.ts";

interface SaleDialogProps {
  lead: DeskLead;
  sale: DeskSale;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** Asks what a sealed sale was really worth, and says what Google will be told of it. */
export function CorrectDialog({ lead, sale, open, onOpenChange }: SaleDialogProps) {
  useBackCloses(open, () => onOpenChange(false));
  const t = useTranslations("desk");
  const { format, actions } = useDesk();
  const words = useLeadWords();
  const consequence = useConsequence(lead, sale);
  const paid = useAmount(sale.currency);
  const [isTried, setTried] = useState(false);
  const { cents } = paid;
  const amount = format.money(sale.amountCents, sale.currency);
  const confirm = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setTried(true);
    if (cents === null) return;
    onOpenChange(false);
    actions.correct(lead, cents, String(new FormData(event.currentTarget).get("reason") ?? ""));
  };
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title={t("correct.title", { who: words.who(lead) })}
      description={`${t("correct.now", { amount })} ${consequence("correct")}`}
    >
      <form className="stack stack-4" onSubmit={confirm}>
        <Field label={t("correct.label")} error={(isTried && paid.problem) || undefined}>
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
        <Field label={t("correct.reason")} hint={t("correct.reasonHint")}>
          {(control) => <Input {...control} name="reason" maxLength={200} />}
        </Field>
        <div className="dialog-f">
          <DialogClose render={<Button />}>{t("correct.keep", { amount })}</DialogClose>
          <Button type="submit" tone="primary">
            {cents === null ? t("correct.confirmEmpty") : t("correct.confirm", { amount: format.money(cents, sale.currency) })}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
