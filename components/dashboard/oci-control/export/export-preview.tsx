"use client";

import { CircleCheck, CloudOff, RotateCw } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import { useControl } from "#components/dashboard/oci-control/context/control-context.tsx";
import { fetchExportPreview, type ExportPreview as Preview } from "#components/dashboard/oci-control/live/control-api.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Button } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { SkeletonRows } from "#components/ui/skeleton.tsx";
import { ExportItems } from "./export-items.tsx";
import { ExportTotals } from "./export-totals.tsx";

/** What the next export would hand out if it ran now. Looking changes nothing. */
export function ExportPreview() {
  const t = useTranslations("oci.export");
  const { site } = useControl();
  const [preview, setPreview] = useState<Preview | "loading" | "failed">("loading");
  const read = async () => {
    setPreview("loading");
    setPreview((await fetchExportPreview(site.publicId)) ?? "failed");
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the tab opens
  useEffect(() => {
    if (site.ociSyncMethod === "script") read();
  }, []);
  if (site.ociSyncMethod !== "script")
    return (
      <Alert tone="completed" title={t("api")}>
        {t("apiBody")}
      </Alert>
    );
  const again = (
    <Button size="sm" onClick={read}>
      <RotateCw className="i i-14" />
      {t("again")}
    </Button>
  );
  if (preview === "loading") {
    return (
      <Card title={t("title")}>
        <div role="status">
          <span className="sr">{t("loading")}</span>
          <SkeletonRows count={5} height={56} />
        </div>
      </Card>
    );
  }
  if (preview === "failed") {
    return (
      <Card title={t("title")}>
        <EmptyState icon={CloudOff} title={t("failed")} action={again}>
          {t("failedBody")}
        </EmptyState>
      </Card>
    );
  }
  return (
    <>
      <Alert tone="completed" title={t("dry")}>
        {t("dryBody")}
      </Alert>
      <ExportTotals preview={preview} />
      <Card title={t("title")} note={t("count", { count: preview.items.length })} end={again}>
        {preview.items.length === 0 ? (
          <EmptyState icon={CircleCheck} title={t("empty")}>
            {t("emptyBody")}
          </EmptyState>
        ) : (
          <ExportItems items={preview.items} />
        )}
      </Card>
    </>
  );
}
