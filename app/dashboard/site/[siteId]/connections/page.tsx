import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { ApiKeyCard } from "#components/connections/api-key-card.tsx";
import { CallEventSecret } from "#components/connections/call-event-secret.tsx";
import { FailedEvents } from "#components/connections/failed-events.tsx";
import { TrackerCard } from "#components/connections/tracker-card.tsx";
import { GoogleAdsLink } from "#components/google-ads/google-ads-link.tsx";
import { OwnersOnly } from "#components/shell/owners-only.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { readPage } from "#lib/auth/session.ts";
import { readConnection } from "#lib/delivery/connect.ts";
import { connectionStatus } from "#lib/delivery/connection-status.ts";
import { env } from "#lib/env.ts";
import { readCallSecret } from "#lib/ingest/call-secret.ts";
import { readFailedEvents, readIngestStatus } from "#lib/ingest/failed-events.ts";
import { currentScriptVersion } from "#lib/oci/script/customer-script.ts";
import { diagnose, readScriptStatus } from "#lib/oci/script/status.ts";
import type { SiteId } from "#lib/site.ts";
import { getSite, readApiKeys, readSiteDelivery } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("nav");
  return { title: t("connections") };
}

export default async function ConnectionsPage({ params }: { params: Promise<{ siteId: string }> }) {
  const site = await getSite((await params).siteId);
  if (site.role !== "owner") return <OwnersOnly siteId={site.siteId} />;
  const [t, nav, keys, { lastEventAt, failed }, googleAds, { pageViewsEnabled }, callSecret] = await Promise.all([
    getTranslations("connections"),
    getTranslations("nav"),
    readPage(readApiKeys, site.siteId),
    readPage(readIngestStatus, site.siteId),
    readGoogleAds(site.siteId, site.ociSyncMethod),
    readPage(readSiteDelivery, site.siteId),
    readPage(readCallSecret, site.siteId),
  ]);
  const editable = site.archivedAt === null;
  return (
    <>
      <PageHeader title={nav("connections")} note={t("lead")} />
      <Page>
        <TrackerCard site={site} appUrl={env().APP_URL} reportsViews={pageViewsEnabled} lastEventAt={lastEventAt} editable={editable} />
        {failed > 0 && (
          <FailedEvents siteId={site.siteId} events={await readPage(readFailedEvents, site.siteId)} timeZone={site.timezone} />
        )}
        <GoogleAdsLink siteId={site.siteId} timeZone={site.timezone} delivery={googleAds} />
        <ApiKeyCard
          siteId={site.siteId}
          keys={keys}
          timeZone={site.timezone}
          editable={editable}
          hasScript={site.ociSyncMethod === "script"}
        />
        <CallEventSecret siteId={site.siteId} timeZone={site.timezone} editable={editable} {...callSecret} />
      </Page>
    </>
  );
}

async function readGoogleAds(siteId: SiteId, way: "script" | "api") {
  if (way === "script") {
    const script = await readPage(readScriptStatus, siteId);
    return { way, diagnosis: diagnose(script, currentScriptVersion()), waiting: script.waiting };
  }
  return { way, status: connectionStatus(await readPage(readConnection, siteId), new Date()) };
}
