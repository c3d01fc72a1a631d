"use client";

import { useTranslations } from "next-intl";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { Button } from "#components/ui/button.tsx";
import { DialogFoot, dialogTitle } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { PasswordInput } from "#components/ui/password-input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { signInAgain } from "#lib/auth/actions.ts";

/** In the browser's own layer, above every dialog of the page. */
export function PasswordDialog({ email, onEnd }: { email: string; onEnd: (signedIn: boolean) => void }) {
  const t = useTranslations("auth");
  const word = useTranslations();
  const errorText = useErrorText();
  const dialog = useRef<HTMLDialogElement>(null);
  const [pending, setPending] = useState(false);
  const [code, setCode] = useState<string | null>(null);
  useEffect(() => {
    const element = dialog.current;
    // The browser's own layer: above every dialog of the page, with the rest out of reach.
    element?.showModal();
    // Escape closes this question only.
    const keep = (event: Event) => event.stopPropagation();
    element?.addEventListener("keydown", keep);
    return () => element?.removeEventListener("keydown", keep);
  }, []);
  const check = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    event.stopPropagation(); // a portal's events also reach the form that is being sent
    if (pending) return;
    setPending(true);
    const { status, code: refused } = await signInAgain(String(new FormData(event.currentTarget).get("password") ?? "")).catch(() => ({
      status: "error",
      code: "OFFLINE",
    }));
    setPending(false);
    if (status === "ok") onEnd(true);
    else setCode(refused ?? "INTERNAL");
  };
  const problem = code && errorText(code === "INVALID_CREDENTIALS" ? "NOT_YOUR_PASSWORD" : code);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="sign-in-again"
      onCancel={(event) => {
        event.preventDefault();
        onEnd(false);
      }}
      className="m-auto w-[min(440px,calc(100%-32px))] rounded-[12px] bg-surface-pop p-5 text-content shadow-lg backdrop:bg-scrim max-desk:mx-0 max-desk:mb-0 max-desk:w-full max-desk:max-w-full max-desk:rounded-b-none"
    >
      <form onSubmit={check} noValidate className="grid gap-4">
        <div>
          <h2 id="sign-in-again" className={dialogTitle}>
            {t("again")}
          </h2>
          <p className="mt-1 text-sm text-pretty text-support">{t("againLead")}</p>
        </div>
        <input type="hidden" name="email" autoComplete="username" value={email} />
        <Field label={word("labels.password")} error={problem || undefined}>
          {(control) => <PasswordInput {...control} name="password" autoComplete="current-password" autoFocus />}
        </Field>
        <DialogFoot>
          <Button type="button" onClick={() => onEnd(false)}>
            {word("actions.cancel")}
          </Button>
          <SubmitButton tone="primary" pending={pending}>
            {word("actions.continue")}
          </SubmitButton>
        </DialogFoot>
      </form>
    </dialog>
  );
}
