import { useTranslations } from "next-intl";
import { sitePath } from "#components/shell/nav-items.ts";
import { ButtonLink } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import type { Diagnosis } from "#lib/oci/script-diagnosis.ts";
import { ScriptDiagnosis } from "./script-diagnosis.tsx";

/** The script on the page of all connections: how it is doing, and the way to more. */
export function ScriptLink({ siteId, diagnosis, waiting }: { siteId: string; diagnosis: Diagnosis; waiting: number }) {
  const t = useTranslations("installScript");
  return (
    <Card
      title={t("cardTitle")}
      end={
        <ButtonLink href={sitePath(siteId, "/connections/google-ads")} size="sm">
          {t("open")}
        </ButtonLink>
      }
    >
      <div className="card-b">
        <ScriptDiagnosis diagnosis={diagnosis} waiting={waiting} />
      </div>
    </Card>
  );
}
