"use client";

import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { Button } from "#components/ui/button.tsx";
import { Choice, Choices } from "#components/ui/choice.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { useLeadWords } from "../list/use-lead-words.ts";

const reasons = ["spam", "wrongNumber", "noAnswer", "notServed", "price", "other"] as const;

export interface JunkDialogProps {
  lead: DeskLead;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** Asks why a lead is no sale: one press for the usual reasons, a line for the others. */
export function JunkQuestion({ lead, open, onOpenChange }: JunkDialogProps) {
  const t = useTranslations("desk.junk");
  const word = useTranslations();
  const { actions } = useDesk();
  const words = useLeadWords();
  const [reason, setReason] = useState<(typeof reasons)[number]>("spam");
  const confirm = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const own = new FormData(event.currentTarget).get("own");
    onOpenChange(false);
    actions.move(lead, "junk", reason === "other" && typeof own === "string" && own.trim() ? own.trim() : t(reason));
  };
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t("title", { who: words.who(lead) })} description={t("body")}>
      <form className="grid gap-4" onSubmit={confirm}>
        <Choices>
          <legend className="sr-only">{word("labels.reason")}</legend>
          {reasons.map((value) => (
            <Choice key={value} name="reason" checked={reason === value} onChange={() => setReason(value)}>
              {t(value)}
            </Choice>
          ))}
        </Choices>
        {reason === "other" && (
          <Field label={t("otherLabel")}>{(control) => <Input {...control} name="own" maxLength={200} autoFocus />}</Field>
        )}
        <DialogFoot>
          <DialogClose render={<Button />}>{t("keep")}</DialogClose>
          <Button type="submit" tone="destroy">
            {word("actions.markJunk")}
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}
