"use client";

import Link from "next/link";
import { useTranslations } from "next-intl";
import { useActionState } from "react";
import { FormFailure } from "#components/forms/form-failure.tsx";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useFocusInvalid } from "#components/forms/use-focus-invalid.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Field } from "#components/ui/field.tsx";
import { PasswordInput } from "#components/ui/password-input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { setNewPassword } from "#lib/auth/actions.ts";
import { idleForm } from "#lib/auth/form-state.ts";

interface NewPasswordFormProps {
  email: string;
  next: string;
  /** Nobody has chosen a password for this account yet: there is none to keep. */
  first: boolean;
  /** A link from an e-mail opened this session: the present password is not asked for. */
  byLink: boolean;
}

export function NewPasswordForm({ email, next, first, byLink }: NewPasswordFormProps) {
  const t = useTranslations("auth");
  const errorText = useErrorText();
  const [state, action] = useActionState(setNewPassword, idleForm);
  const form = useFocusInvalid(state.fields);
  const { password: passwordError, present: presentError } = state.fields ?? {};
  // Without a field at fault the form was fine and the password itself was refused: too common, or the one in use.
  const refused = state.code === "VALIDATION_FAILED" && !state.fields;
  return (
    <form ref={form} action={action} noValidate className="grid gap-5">
      <input type="hidden" name="next" value={next} />
      {/* Password managers store the new password under this name. */}
      <input type="hidden" name="email" autoComplete="username" value={email} />
      {!byLink && (
        <Field
          label={t("presentPassword")}
          error={presentError && errorText(presentError)}
          aside={
            <Link className="text-sm link tap -my-3" href="/forgot-password">
              {t("forgot")}
            </Link>
          }
        >
          {(control) => <PasswordInput {...control} className="min-h-11" name="present" autoComplete="current-password" />}
        </Field>
      )}
      <Field label={t("newPassword")} hint={t("newPasswordHint")} error={passwordError && errorText(passwordError)}>
        {(control) => <PasswordInput {...control} className="min-h-11" name="password" autoComplete="new-password" />}
      </Field>
      {refused ? (
        <Alert tone="failed">{t("passwordRefused")}</Alert>
      ) : (
        <FormFailure code={state.code} waitSeconds={state.waitSeconds} fields={state.fields} />
      )}
      <SubmitButton tone="primary" size="tall">
        {t("savePassword")}
      </SubmitButton>
      {!first && (
        <Link className="text-sm link tap justify-self-start" href={next}>
          {t("keepPassword")}
        </Link>
      )}
    </form>
  );
}
