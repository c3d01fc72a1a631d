"use client";

import { createContext, type ReactNode, useContext, useMemo, useState } from "react";
import { createPortal } from "react-dom";
import { latePart } from "#components/ui/late-part.tsx";

const Password = latePart(() => import("./password-dialog.tsx").then(({ PasswordDialog }) => PasswordDialog));

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
      {answer && createPortal(<Password.Part isWanted email={email} onEnd={end} />, overWhat())}
    </AskContext>
  );
}

/** Inside the dialog that is open, so that a press here is none beside it: it stays open, with what was typed. */
const overWhat = () => [...document.querySelectorAll("[data-slot=dialog], [data-slot=sheet]")].at(-1) ?? document.body;
