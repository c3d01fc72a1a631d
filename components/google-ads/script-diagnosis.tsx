import { useTranslations } from "next-intl";
import { Alert } from "#components/ui/alert.tsx";
import type { Diagnosis } from "#lib/oci/script/status.ts";

const knownReasons = ["INVALID_CREDENTIALS", "INSUFFICIENT_SCOPE", "APPLY_FAILED"] as const;

/** One sentence on how the script is doing, and what to do about it. */
export function ScriptDiagnosis({ diagnosis, waiting }: { diagnosis: Diagnosis; waiting: number }) {
  const t = useTranslations("scriptStatus");
  const { code, tone, hours = 0, errorCode = "" } = diagnosis;
  const known = knownReasons.find((reason) => reason === errorCode);
  const title =
    code === "FAILED" ? t("FAILED.title", { reason: known ? t(`reasons.${known}`) : errorCode }) : t(`${code}.title`, { hours });
  return (
    <Alert tone={tone} title={title}>
      {known ? t(`cures.${known}`) : t(`${code}.next`, { waiting })}
    </Alert>
  );
}
