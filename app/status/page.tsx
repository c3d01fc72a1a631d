import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { PublicPage } from "#components/shell/public-page.tsx";
import { Alert } from "#components/ui/alert.tsx";
import { Badge } from "#components/ui/badge.tsx";
import { Card } from "#components/ui/card.tsx";
import { ListRow } from "#components/ui/list-row.tsx";
import { readiness } from "#lib/health/readiness.ts";

export const dynamic = "force-dynamic";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("status");
  return { title: t("title") };
}

/** Which parts answer right now, measured while this page was made. */
export default async function StatusPage() {
  const [t, labels, { ready, checks }] = await Promise.all([getTranslations("status"), getTranslations("labels"), readiness()]);
  return (
    <PublicPage>
      <h1>{t("title")}</h1>
      <Alert tone={ready ? "completed" : "retry"} title={t(ready ? "ready" : "notReady")}>
        {t(ready ? "readyNote" : "notReadyNote")}
      </Alert>
      <Card title={t("parts")} note={t("measuredNow")}>
        {checks.map(({ name, ok, latencyMs }) => (
          <ListRow key={name}>
            <div className="min-w-0 flex-1 max-desk:basis-3/5">
              <p className="font-semibold">{t(`names.${name}`)}</p>
              <p className="text-xs text-meta">{t(`notes.${name}`)}</p>
            </div>
            {latencyMs !== null && name !== "migrations" && (
              <span className="text-sm text-meta text-right whitespace-nowrap">{labels("ms", { ms: Math.round(latencyMs) })}</span>
            )}
            <Badge state={ok ? "COMPLETED" : "FAILED"}>
              {t(name === "migrations" ? (ok ? "current" : "outdated") : ok ? "answers" : "silent")}
            </Badge>
          </ListRow>
        ))}
      </Card>
    </PublicPage>
  );
}
