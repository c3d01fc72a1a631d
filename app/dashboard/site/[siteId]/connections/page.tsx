import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { ApiKeyCard } from "#components/connections/api-key-card.tsx";
import { CallEventSecret } from "#components/connections/call-event-secret.tsx";
import { FailedEvents } from "#components/connections/failed-events.tsx";
import { TrackerCard } from "#components/connections/tracker-card.tsx";
import { GoogleAdsLink } from "#components/google-ads/google-ads-link.tsx";
import { SetupLine } from "#components/setup/setup-card.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { OwnersOnly } from "#components/shell/owners-only.tsx";
import { ButtonLink } from "#components/ui/button.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { LiveMark } from "#components/workbench/live/live-mark.tsx";
import { readPage } from "#lib/auth/session.ts";
import { readConnection } from "#lib/delivery/connect.ts";
import { connectionStatus } from "#lib/delivery/connection-status.ts";
import { env } from "#lib/env.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { readCallSecret } from "#lib/ingest/call-secret.ts";
import { readFailedEvents, readIngestStatus } from "#lib/ingest/failed-events.ts";
import { currentScriptVersion } from "#lib/oci/script/customer-script.ts";
import { diagnose, readScriptStatus } from "#lib/oci/script/status.ts";
import type { SiteId } from "#lib/site.ts";
import { getVersionedSite, readApiKeys, readSiteDelivery } from "#lib/tenancy/readers.ts";
import { readSiteSetup } from "#lib/tenancy/site-setup.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("nav");
  return { title: t("connections") };
}

async function ConnectionsPage({ params }: { params: Promise<{ siteId: string }> }) {
  const site = await getVersionedSite((await params).siteId, "setup");
  if (site.role !== "owner") return <OwnersOnly siteId={site.siteId} />;
  const [t, nav, keys, { lastEventAt, failed }, googleAds, { pageViewsEnabled }, callSecret, setup, steps] = await Promise.all([
    getTranslations("connections"),
    getTranslations("nav"),
    readPage(readApiKeys, site.siteId),
    readPage(readIngestStatus, site.siteId),
    readGoogleAds(site.siteId, site.ociSyncMethod),
    readPage(readSiteDelivery, site.siteId),
    readPage(readCallSecret, site.siteId),
    readPage(readSiteSetup, site.siteId),
    getTranslations("setup"),
  ]);
  const editable = site.archivedAt === null;
  return (
    <>
      <PageHeader title={nav("connections")} note={t("lead")}>
        <LiveMark siteId={site.siteId} of="setup" version={site.version} />
        {setup.steps.every(({ at }) => at !== null) && <ButtonLink href={sitePath(site.siteId, "/setup")}>{steps("title")}</ButtonLink>}
      </PageHeader>
      <Page>
        <SetupLine siteId={site.siteId} setup={setup} />
        <TrackerCard
          site={site}
          appUrl={env().APP_URL}
          reportsViews={pageViewsEnabled}
          lastEventAt={lastEventAt}
          setup={setup}
          editable={editable}
        />
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

export default withMessages("dashboard/site/[siteId]/connections/page", ConnectionsPage);
