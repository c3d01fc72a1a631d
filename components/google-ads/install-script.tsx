import { useTranslations } from "next-intl";
import { Card } from "#components/ui/card.tsx";
import { CopyButton } from "#components/ui/copy-button.tsx";

/** How the script gets into the customer's Google Ads account. */
export function InstallScript({ script, version }: { script: string; version: string }) {
  const t = useTranslations("installScript");
  const steps = ["key", "paste", "preview", "schedule"] as const;
  return (
    <Card
      title={t("title")}
      note={t("version", { version })}
      end={<CopyButton value={script} label={t("copy")} tone="primary" size="sm" />}
    >
      <ol className="grid list-decimal gap-3 p-4 pl-9 text-pretty">
        {steps.map((step) => (
          <li key={step}>{t(`steps.${step}`)}</li>
        ))}
      </ol>
    </Card>
  );
}
