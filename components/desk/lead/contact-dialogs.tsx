"use client";

import { useTranslations } from "next-intl";
import { type FormEvent, type ReactNode, useState } from "react";
import type { SendFailure } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useSend } from "#components/forms/use-send.ts";
import { Button } from "#components/ui/button.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input, Textarea } from "#components/ui/input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { LeadDetail } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";

interface DialogProps {
  detail: LeadDetail;
  onClose: () => void;
}

interface FrameProps extends DialogProps {
  method: "PATCH" | "POST";
  /** Below the lead's own address. */
  path: "" | "/notes";
  title: string;
  lead: string;
  done: string;
  children: (failure: SendFailure | null) => ReactNode;
}

/** A short form about a lead. Its fields are the body. */
function LeadForm({ detail, onClose, method, path, title, lead, done, children }: FrameProps) {
  const actions = useTranslations("actions");
  const { siteId } = useDesk();
  const { send, pending } = useSend();
  const [failure, setFailure] = useState<SendFailure | null>(null);
  function save(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const body = Object.fromEntries(new FormData(event.currentTarget));
    void send({ method, url: `/api/sites/${siteId}/calls/${detail.id}${path}`, body, done, onDone: onClose, onFailed: setFailure });
  }
  return (
    <Dialog open onOpenChange={(isOpen) => !isOpen && onClose()} title={title} description={lead}>
      <form className="grid gap-4" onSubmit={save}>
        {children(failure)}
        <DialogFoot>
          <DialogClose render={<Button />}>{actions("cancel")}</DialogClose>
          <SubmitButton tone="primary" pending={pending}>
            {actions("save")}
          </SubmitButton>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

const fieldOf = (failure: SendFailure | null) => failure && (failure.facts.field ?? Object.keys(failure.fields)[0] ?? "other");

/** Name and number of the person behind a lead. */
export function ContactDialog({ detail, onClose }: DialogProps) {
  const t = useTranslations("desk.contact");
  const word = useTranslations();
  const labels = useTranslations("labels");
  const errorText = useErrorText();
  return (
    <LeadForm detail={detail} onClose={onClose} method="PATCH" path="" title={t("title")} lead={t("lead")} done={t("saved")}>
      {(failure) => (
        <>
          <Field label={labels("name")} error={failure && fieldOf(failure) !== "phone" ? errorText(failure.code) : undefined}>
            {(control) => <Input {...control} name="name" defaultValue={detail.name ?? ""} maxLength={80} autoComplete="off" />}
          </Field>
          <Field
            label={word("personalData.search.kinds.phone")}
            hint={t("phoneHint")}
            error={fieldOf(failure) === "phone" ? t("noNumber") : undefined}
          >
            {(control) => (
              <Input {...control} name="phone" type="tel" defaultValue={detail.fullPhone ?? ""} maxLength={32} autoComplete="off" />
            )}
          </Field>
        </>
      )}
    </LeadForm>
  );
}

/** A note that stays in the lead's history. */
export function NoteDialog({ detail, onClose }: DialogProps) {
  const t = useTranslations("desk.contact");
  const labels = useTranslations("labels");
  const errorText = useErrorText();
  return (
    <LeadForm detail={detail} onClose={onClose} method="POST" path="/notes" title={t("note")} lead={t("noteLead")} done={t("noted")}>
      {(failure) => (
        <Field label={labels("note")} error={failure ? errorText(failure.code) : undefined}>
          {(control) => <Textarea {...control} name="note" rows={3} maxLength={500} required />}
        </Field>
      )}
    </LeadForm>
  );
}
