"use client";

import { Plus } from "lucide-react";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { FormFailure } from "#components/forms/form-failure.tsx";
import type { SendFailure } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useFocusInvalid } from "#components/forms/use-focus-invalid.ts";
import { useSend } from "#components/forms/use-send.ts";
import { Button } from "#components/ui/button.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { SecretText } from "#components/ui/secret-text.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { SiteId } from "#lib/site.ts";
import { type KeyScope, keyScopes } from "#lib/tenancy/site-roles.ts";
import { ScopeChoice } from "./scope-choice.tsx";

/** Makes a key, then shows it this one time. */
export function CreateKeyDialog({ siteId }: { siteId: SiteId }) {
  const t = useTranslations("apiKeys");
  const [open, setOpen] = useState(false);
  const [key, setKey] = useState<string | null>(null);
  const openOrClose = (opening: boolean) => {
    setOpen(opening);
    if (opening) setKey(null);
  };
  const trigger = (
    <Button tone="primary">
      <Plus />
      {t("create")}
    </Button>
  );
  return (
    <Dialog
      open={open}
      onOpenChange={openOrClose}
      title={key ? t("createdTitle") : t("createTitle")}
      description={key ? t("createdLead") : t("createLead")}
      trigger={trigger}
      guarded={key !== null}
    >
      {key ? (
        <>
          <SecretText value={key} label={t("key")} />
          <DialogFoot>
            <DialogClose render={<Button tone="primary" />}>{t("stored")}</DialogClose>
          </DialogFoot>
        </>
      ) : (
        <CreateKeyForm siteId={siteId} onCreated={setKey} />
      )}
    </Dialog>
  );
}

function CreateKeyForm({ siteId, onCreated }: { siteId: SiteId; onCreated: (key: string) => void }) {
  const t = useTranslations();
  const errorText = useErrorText();
  const { send, pending } = useSend();
  const [scopes, setScopes] = useState<KeyScope[]>(["script"]);
  const [failure, setFailure] = useState<SendFailure | null>(null);
  const form = useFocusInvalid(failure?.fields);
  const nameError = failure?.fields.name;
  const create = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (pending) return;
    const name = String(new FormData(event.currentTarget).get("name") ?? "");
    setFailure(null);
    void send({
      method: "POST",
      url: `/api/sites/${siteId}/api-keys`,
      body: { name, scopes },
      onDone: ({ key }) => onCreated(String(key)),
      onFailed: setFailure,
    });
  };
  return (
    <form ref={form} onSubmit={create} noValidate className="grid gap-4">
      <Field label={t("labels.name")} hint={t("apiKeys.nameHint")} error={nameError && errorText(nameError)}>
        {(control) => <Input {...control} name="name" autoComplete="off" maxLength={80} />}
      </Field>
      <ScopeChoice
        offered={keyScopes}
        chosen={scopes}
        onChoose={setScopes}
        error={scopes.length === 0 ? t("apiKeys.scopesNone") : undefined}
      />
      <FormFailure code={failure?.code} requestId={failure?.requestId ?? null} fields={failure?.fields} />
      <DialogFoot>
        <DialogClose render={<Button />}>{t("actions.cancel")}</DialogClose>
        <SubmitButton tone="primary" pending={pending} disabled={scopes.length === 0}>
          {t("apiKeys.create")}
        </SubmitButton>
      </DialogFoot>
    </form>
  );
}
