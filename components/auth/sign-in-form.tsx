"use client";

import Link from "next/link";
import { useTranslations } from "next-intl";
import { useActionState } from "react";
import { FormFailure } from "#components/forms/form-failure.tsx";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useFocusInvalid } from "#components/forms/use-focus-invalid.ts";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { PasswordInput } from "#components/ui/password-input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { signIn } from "#lib/auth/actions.ts";
import { idleForm } from "#lib/auth/form-state.ts";

export function SignInForm({ next }: { next: string }) {
  const t = useTranslations();
  const errorText = useErrorText();
  const [state, action] = useActionState(signIn, idleForm);
  const form = useFocusInvalid(state.fields);
  const errorOf = (field: string) => state.fields?.[field] && errorText(state.fields[field]);
  return (
    <form ref={form} action={action} noValidate className="grid gap-5">
      <input type="hidden" name="next" value={next} />
      <Field label={t("labels.email")} error={errorOf("email")}>
        {(control) => (
          <Input
            {...control}
            className="min-h-11"
            key={state.values?.email}
            name="email"
            type="email"
            autoComplete="username"
            defaultValue={state.values?.email}
          />
        )}
      </Field>
      <Field
        label={t("labels.password")}
        error={errorOf("password")}
        aside={
          <Link className="text-sm link tap -my-3" href="/forgot-password">
            {t("auth.forgot")}
          </Link>
        }
      >
        {(control) => <PasswordInput {...control} className="min-h-11" name="password" autoComplete="current-password" />}
      </Field>
      <FormFailure code={state.code} waitSeconds={state.waitSeconds} fields={state.fields} />
      <SubmitButton tone="primary" size="tall">
        {t("auth.signIn")}
      </SubmitButton>
      <p className="text-sm text-support">{t("auth.noAccount")}</p>
    </form>
  );
}
