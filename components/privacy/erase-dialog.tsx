"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useSend } from "#components/forms/use-send.ts";
import { Button } from "#components/ui/button.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { AskedPerson, GivenReceipt } from "#lib/privacy/person.ts";

interface EraseDialogProps {
  url: string;
  person: AskedPerson;
  onErased: (receipt: GivenReceipt) => void;
}

/** Erases after a word was typed: nothing brings the person back. */
export function EraseDialog({ url, person, onErased }: EraseDialogProps) {
  const t = useTranslations("personalData.erase");
  const { send, pending } = useSend();
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const matches = typed.trim().toLocaleLowerCase("tr") === t("word").toLocaleLowerCase("tr");
  const erase = () =>
    send({
      method: "POST",
      url,
      body: person,
      onDone: (value) => {
        setOpen(false);
        onErased(value as unknown as GivenReceipt); // the route's own answer
      },
    });
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        setOpen(next);
        setTyped("");
      }}
      title={t("question")}
      description={t("consequence")}
      trigger={<Button tone="danger">{t("button")}</Button>}
    >
      <Field label={t("type", { word: t("word") })}>
        {(control) => <Input {...control} value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" />}
      </Field>
      <DialogFoot>
        <DialogClose render={<Button />}>{t("keep")}</DialogClose>
        <SubmitButton type="button" tone="destroy" pending={pending} disabled={!matches} onClick={erase}>
          {t("confirm")}
        </SubmitButton>
      </DialogFoot>
    </Dialog>
  );
}
