"use client";

import { useTranslations } from "next-intl";
import { Alert } from "#components/ui/alert.tsx";
import { useErrorText } from "./use-error-text.ts";

interface FormFailureProps {
  code: string | undefined;
  requestId?: string | null;
  /** How long to wait, where it is known. */
  waitSeconds?: number | undefined;
  /** When a field already says what is wrong, the form does not repeat it. */
  fields?: Record<string, string> | undefined;
}

/** What went wrong with a whole form, above its button. */
export function FormFailure({ code, requestId, waitSeconds, fields = {} }: FormFailureProps) {
  const t = useTranslations("ui");
  const errorText = useErrorText();
  if (!code || Object.keys(fields).length > 0) return null;
  return (
    <Alert tone="failed">
      {waitSeconds ? t("waitThenRetry", { seconds: waitSeconds }) : errorText(code)}
      {code === "INTERNAL" && requestId && <span className="text-xs mt-1 block id">{t("supportNumber", { number: requestId })}</span>}
    </Alert>
  );
}
