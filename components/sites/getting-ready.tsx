import { Check, type LucideIcon } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { ButtonLink } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";

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
        {steps.map(({ key, icon: Icon, done, title, note, action }) => (
          <li key={key} className="ready-step">
            <span className={done ? "n ok" : "n"}>{done ? <Check className="i" /> : <Icon className="i" />}</span>
            <div className="grow">
              <p className={done ? "med t2" : "strong"}>
                {title}
                {done && <span className="sr"> {t("done")}</span>}
              </p>
              <p className="sm t3 text-pretty">{note}</p>
            </div>
            {action && !done && (
              <ButtonLink href={action.href} tone={key === nextKey ? "primary" : "plain"}>
                {action.label}
              </ButtonLink>
            )}
          </li>
        ))}
      </ol>
      <p className="card-f sm t2">{footer}</p>
    </Card>
  );
}
