"use client";

import Link from "next/link";
import { useTranslations } from "next-intl";
import { useActionState } from "react";
import { FormFailure } from "#components/forms/form-failure.tsx";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useFocusInvalid } from "#components/forms/use-focus-invalid.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { requestPasswordReset } from "#lib/auth/actions.ts";
import { idleForm } from "#lib/auth/form-state.ts";

/** Asks for a link. It answers the same for every address, so that nobody learns who has an account. */
export function ForgotPasswordForm() {
  const t = useTranslations("auth");
  const word = useTranslations();
  const errorText = useErrorText();
  const [state, action] = useActionState(requestPasswordReset, idleForm);
  const form = useFocusInvalid(state.fields);
  const emailError = state.fields?.email;
  return (
    <form ref={form} action={action} noValidate className="grid gap-5">
      {state.status === "ok" && (
        <Alert tone="completed" title={t("linkSent")}>
          {t("linkSentNext", { email: state.values?.email ?? "" })}
        </Alert>
      )}
      <Field label={word("labels.email")} error={emailError && errorText(emailError)}>
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
      <FormFailure code={state.code} waitSeconds={state.waitSeconds} fields={state.fields} />
      <SubmitButton tone={state.status === "ok" ? "plain" : "primary"} size="tall">
        {t(state.status === "ok" ? "sendLinkAgain" : "sendLink")}
      </SubmitButton>
      <Link className="text-sm link tap justify-self-start" href="/sign-in">
        {t("backToSignIn")}
      </Link>
    </form>
  );
}
