import type { LucideIcon } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { ButtonLink } from "#components/ui/button.tsx";
import { Card, CardFoot } from "#components/ui/card.tsx";
import { StepRow } from "#components/ui/step-row.tsx";

export interface ReadyStep {
  key: string;
  icon: LucideIcon;
  done: boolean;
  title: string;
  /** What it is for, or what was found when it is done. */
  note: ReactNode;
  action?: { href: string; label: string };
}

/** What is left to do before the first lead can arrive. Steps are ticked by what the site really has. */
export function GettingReady({ steps, footer }: { steps: ReadyStep[]; footer: string }) {
  const t = useTranslations("ready");
  const doneCount = steps.filter((step) => step.done).length;
  const nextKey = steps.find((step) => !step.done)?.key;
  return (
    <Card title={t("title")} note={t("progress", { done: doneCount, total: steps.length })}>
      <ol>
        {steps.map(({ key, icon, done, title, note, action }) => (
          <StepRow
            key={key}
            icon={icon}
            done={done}
            title={
              <p className={done ? "font-medium text-support" : "font-semibold"}>
                {title}
                {done && <span className="sr-only"> {t("done")}</span>}
              </p>
            }
            note={note}
            action={
              action &&
              !done && (
                <ButtonLink href={action.href} tone={key === nextKey ? "primary" : "plain"}>
                  {action.label}
                </ButtonLink>
              )
            }
          />
        ))}
      </ol>
      <CardFoot className="text-sm text-support">{footer}</CardFoot>
    </Card>
  );
}
