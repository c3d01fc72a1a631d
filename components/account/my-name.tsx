"use client";

import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useSend } from "#components/forms/use-send.ts";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";

/** The reader's own name, as the teams of their sites read it. */
export function MyName({ name }: { name: string }) {
  const t = useTranslations("account");
  const word = useTranslations();
  const errorText = useErrorText();
  const { send, pending } = useSend();
  const [failure, setFailure] = useState<string>();
  function save(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    setFailure(undefined);
    const body = Object.fromEntries(new FormData(event.currentTarget));
    void send({
      method: "PATCH",
      url: "/api/account",
      body,
      done: t("renamed"),
      onFailed: ({ code, fields }) => setFailure(errorText(fields.name ?? code)),
    });
  }
  return (
    <form className="flex flex-wrap items-start gap-2 px-4 py-3" onSubmit={save}>
      <div className="min-w-48 flex-1">
        <Field label={word("labels.name")} hint={t("nameHint")} error={failure}>
          {(control) => <Input {...control} name="name" defaultValue={name} maxLength={80} autoComplete="name" />}
        </Field>
      </div>
      <SubmitButton className="desk:mt-6.5" pending={pending}>
        {word("actions.save")}
      </SubmitButton>
    </form>
  );
}
