"use client";

import { useTranslations } from "next-intl";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";

const secrets = ["client_secret", "refresh_token", "developer_token"] as const;

export type TextFieldName = "customer_id" | "login_customer_id" | "client_id" | (typeof secrets)[number];

interface ConnectFieldProps {
  name: TextFieldName;
  error?: string | undefined;
  defaultValue?: string | undefined;
  hint?: string;
}

/** One text of the connect form with its help. Secrets go one way: what is stored never comes back into a field. */
export function ConnectField({ name, error, defaultValue, hint }: ConnectFieldProps) {
  const t = useTranslations("googleAds.fields");
  const isSecret = secrets.some((secret) => secret === name);
  return (
    <Field label={t(`${name}.label`)} hint={hint ?? t(`${name}.hint`)} error={error}>
      {(control) => (
        <Input
          {...control}
          name={name}
          defaultValue={defaultValue}
          type={isSecret ? "password" : "text"}
          inputMode={name.endsWith("customer_id") ? "numeric" : "text"}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          maxLength={512}
        />
      )}
    </Field>
  );
}

/** The sentence for what is wrong with a field: its own where the server only says "not valid". */
export function useFieldError() {
  const t = useTranslations("googleAds.fields");
  const errorText = useErrorText();
  return (name: TextFieldName | "conversion_action_resource_name" | "transport", code: string) =>
    code === "VALIDATION_FAILED" ? t(`${name}.invalid`) : errorText(code);
}
