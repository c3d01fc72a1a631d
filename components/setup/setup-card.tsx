import { CircleDashed } from "lucide-react";
import { useTranslations } from "next-intl";
import { sitePath } from "#components/shell/nav-items.ts";
import { Alert } from "#components/ui/alert.tsx";
import { ButtonLink } from "#components/ui/button.tsx";
import { Card, CardFoot } from "#components/ui/card.tsx";
import { StepRow } from "#components/ui/step-row.tsx";
import type { SiteId } from "#lib/site.ts";
import type { SiteSetup } from "#lib/tenancy/site-setup.ts";

interface SetupCardProps {
  siteId: SiteId;
  setup: SiteSetup;
}

const openOnes = ({ steps }: SiteSetup) => steps.filter(({ at }) => at === null);

/** Before the first lead: what is left to do. Steps are ticked by what was really seen. */
export function SetupCard({ siteId, setup }: SetupCardProps) {
  const t = useTranslations("setup");
  const { steps } = setup;
  const next = openOnes(setup)[0];
  return (
    <Card title={t("title")} note={t("progress", { done: steps.length - openOnes(setup).length, total: steps.length })}>
      <ol>
        {steps.map(({ step, at, facts }) => (
          <StepRow
            key={step}
            icon={CircleDashed}
            done={at !== null}
            title={
              <p className={at ? "font-medium text-support" : "font-semibold"}>
                {t(`${step}.title`)}
                {at && <span className="sr-only"> {t("isDone")}</span>}
              </p>
            }
            note={at === null ? t(`${step}.open`) : step === "snippet" ? t("snippet.done", { page: facts.page ?? "" }) : t("isDone")}
            action={
              step === next?.step && (
                <ButtonLink href={`${sitePath(siteId, "/setup")}#${step}`} tone="primary">
                  {t("card.go")}
                </ButtonLink>
              )
            }
          />
        ))}
      </ol>
      <CardFoot className="text-sm text-support">{t("card.noLeads")}</CardFoot>
    </Card>
  );
}

/** With leads and steps left: one line that stays until all are done. */
export function SetupLine({ siteId, setup }: SetupCardProps) {
  const t = useTranslations("setup");
  const next = openOnes(setup)[0];
  if (!next) return null;
  const { steps } = setup;
  return (
    <Alert
      tone="retry"
      title={t("card.title", { done: steps.length - openOnes(setup).length, total: steps.length })}
      action={
        <ButtonLink href={`${sitePath(siteId, "/setup")}#${next.step}`} size="sm">
          {t("card.go")}
        </ButtonLink>
      }
    >
      {t("card.next", { step: t(`${next.step}.title`) })}
    </Alert>
  );
}
