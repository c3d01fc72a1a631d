"use client";

import { useTranslations } from "next-intl";
import { type Cure, causeOf } from "#lib/oci/queue/causes.ts";

export interface Cause {
  /** What happened, who can fix it, what to do; without the code. */
  what: string;
  who: string;
  fix: string;
  cure: Cure;
  /** The label of the button that does it. */
  deed: string;
  /** Whether sending it again can work, at once or after "fix". */
  helps: boolean;
}

/** `syncMethod`: how the site sends to Google. */
export function useCause(syncMethod: "script" | "api"): (code: string) => Cause {
  const t = useTranslations();
  return (code) => {
    const { name, fixer, cure } = causeOf(code, syncMethod);
    return {
      what: t(`causes.${name}.what`),
      who: t(`who.${fixer}`),
      fix: t(`causes.${name}.fix`),
      cure,
      deed: t(`actions.${cure}`),
      helps: cure !== "none" && cure !== "wait",
    };
  };
}

/** A sentence as one line of a table: it needs no full stop. */
export const asLine = (sentence: string) => sentence.replace(/\.$/, "");
