import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { ApiKeyCard } from "#components/connections/api-key-card.tsx";
import { InstallScript } from "#components/google-ads/install-script.tsx";
import { ScriptDiagnosis } from "#components/google-ads/script-diagnosis.tsx";
import { ScriptRuns } from "#components/google-ads/script-runs.tsx";
import { OwnersOnly } from "#components/shell/owners-only.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { env } from "#lib/env.ts";
import { currentScriptVersion, customerScript } from "#lib/oci/customer-script.ts";
import { diagnose } from "#lib/oci/script-diagnosis.ts";
import { getSite, listApiKeys, readScriptStatus } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("installScript");
  return { title: t("pageTitle") };
}

export default async function GoogleAdsPage({ params }: { params: Promise<{ siteId: string }> }) {
  const site = await getSite((await params).siteId);
  if (site.role !== "owner") return <OwnersOnly siteId={site.publicId} />;
  const [t, keys, status] = await Promise.all([
    getTranslations("installScript"),
    listApiKeys(site.publicId),
    readScriptStatus(site.publicId),
  ]);
  const version = currentScriptVersion();
  return (
    <>
      <PageHeader title={t("pageTitle")} note={t("lead")} />
      <div className="page">
        <ScriptDiagnosis diagnosis={diagnose(status, version)} waiting={status.waiting} />
        <InstallScript script={customerScript({ publicId: site.publicId, appUrl: env().APP_URL })} version={version} />
        <ScriptRuns runs={status.runs} timeZone={site.timezone} />
        <ApiKeyCard siteId={site.publicId} keys={keys} timeZone={site.timezone} editable={site.archivedAt === null} />
      </div>
    </>
  );
}
