"use client";

import { useTranslations } from "next-intl";

/** The message of an error code; an unknown code reads as INTERNAL. */
export function useErrorText(): (code: string) => string {
  const t = useTranslations("errors");
  return (code) => {
    const known = code as Parameters<typeof t>[0]; // has() checks it before it is used
    return t.has(known) ? t(known) : t("INTERNAL");
  };
}
