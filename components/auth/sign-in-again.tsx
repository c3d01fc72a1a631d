"use client";

import { useTranslations } from "next-intl";
import { createContext, type FormEvent, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { Button } from "#components/ui/button.tsx";
import { DialogFoot, dialogTitle } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { PasswordInput } from "#components/ui/password-input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { signInAgain } from "#lib/auth/actions.ts";

type Ask = () => Promise<boolean>;
const AskContext = createContext<Ask>(async () => false);

/** Asks for the password over whatever is open; true once it was right. */
export const useSignInAgain = (): Ask => useContext(AskContext);

/** Changes of keys, roles, secrets and credentials are refused after 15 minutes. The page then asks for the password and goes on. */
export function SignInAgainProvider({ email, children }: { email: string; children: ReactNode }) {
  const [answer, setAnswer] = useState<((signedIn: boolean) => void) | null>(null);
  const ask = useMemo<Ask>(() => () => new Promise((resolve) => setAnswer(() => resolve)), []);
  const end = (signedIn: boolean) => {
    answer?.(signedIn);
    setAnswer(null);
  };
  return (
    <AskContext value={ask}>
      {children}
      {answer && createPortal(<PasswordDialog email={email} onEnd={end} />, overWhat())}
    </AskContext>
  );
}

/** Inside the dialog that is open, so that a press here is none beside it: it stays open, with what was typed. */
const overWhat = () => [...document.querySelectorAll("[data-slot=dialog], [data-slot=sheet]")].at(-1) ?? document.body;

function PasswordDialog({ email, onEnd }: { email: string; onEnd: (signedIn: boolean) => void }) {
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
