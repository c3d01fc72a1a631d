"use client";

import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { FormFailure } from "#components/forms/form-failure.tsx";
import { useFocusInvalid } from "#components/forms/use-focus-invalid.ts";
import { Button } from "#components/ui/button.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { SiteId } from "#lib/site.ts";
import { ConnectField, useFieldError } from "./connect-field.tsx";
import { ConnectionChecks } from "./connection-checks.tsx";
import { type ConnectionTest, givenFields, useConnect } from "./use-connect.ts";

const names = ["refresh_token", "client_id", "client_secret"] as const;

interface RotateProps {
  siteId: SiteId;
  customerId: string;
  onConnected: (test: ConnectionTest) => void;
}

/** The same account with a new token, or a new client and its token. The stored one works until Google takes the new one. */
export function RotateAccess({ siteId, customerId, onConnected }: RotateProps) {
  const t = useTranslations("googleAds");
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      open={open}
      onOpenChange={setOpen}
      title={t("rotate.title")}
      description={t("rotate.lead")}
      trigger={<Button>{t("rotate.title")}</Button>}
    >
      <RotateForm
        siteId={siteId}
        customerId={customerId}
        onConnected={(test) => {
          setOpen(false);
          onConnected(test);
        }}
      />
    </Dialog>
  );
}

function RotateForm({ siteId, customerId, onConnected }: RotateProps) {
  const t = useTranslations("googleAds");
  const word = useTranslations();
  const fieldError = useFieldError();
  const { ask, pending, failure, test, finding } = useConnect(siteId);
  const [isEmpty, setEmpty] = useState(false);
  const form = useFocusInvalid(isEmpty || (failure ?? test));
  const errorOf = (name: (typeof names)[number]) => {
    if (name === "refresh_token" && isEmpty) return fieldError(name, "REQUIRED");
    if (failure?.fields[name]) return fieldError(name, failure.fields[name]);
    return finding?.field === name ? `${t(`findings.${finding.name}.what`)} ${t(`findings.${finding.name}.fix`)}` : undefined;
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = givenFields(form.current);
    setEmpty(given.refresh_token === undefined);
    if (pending || given.refresh_token === undefined) return;
    ask({ path: "rotate", body: given, done: (count) => t("rotate.done", { count }), onConnected });
  };
  return (
    <form ref={form} onSubmit={submit} noValidate className="grid gap-4">
      {names.map((name) => (
        <ConnectField key={name} name={name} error={errorOf(name)} {...(name !== "refresh_token" && { hint: t("rotate.clientHint") })} />
      ))}
      <FormFailure code={failure?.code} requestId={failure?.requestId ?? null} fields={failure?.fields} />
      {test && !test.ok && (
        <ConnectionChecks test={test} customerId={customerId} failed={t("connect.unsaved")} isSaid={names.some((name) => errorOf(name))} />
      )}
      <DialogFoot>
        <DialogClose render={<Button />}>{word("actions.cancel")}</DialogClose>
        <SubmitButton tone="primary" pending={pending}>
          {t("rotate.submit")}
        </SubmitButton>
      </DialogFoot>
    </form>
  );
}
