import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { PauseCard } from "#components/delivery/pause-card.tsx";
import { ConnectionCard } from "#components/google-ads/connection/connection-card.tsx";
import { ConversionActions } from "#components/google-ads/connection/conversion-actions.tsx";
import { DryRun } from "#components/google-ads/connection/dry-run.tsx";
import { HealthCard } from "#components/google-ads/connection/health-card.tsx";
import { DeliveryWay } from "#components/google-ads/delivery-way.tsx";
import { StatusAlert } from "#components/google-ads/status-alert.tsx";
import { connectPath, sitePath } from "#components/shell/nav-items.ts";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { readPage } from "#lib/auth/session.ts";
import { actionRows } from "#lib/delivery/action-rows.ts";
import { readConnection } from "#lib/delivery/connect.ts";
import { connectionStatus } from "#lib/delivery/connection-status.ts";
import { env } from "#lib/env.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { readWaitingRows } from "#lib/oci/queue/rows.ts";
import { getSite, readSiteDelivery } from "#lib/tenancy/readers.ts";
import { ScriptSection, ScriptStatusAlert } from "./script-section.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("googleAds");
  return { title: t("title") };
}

interface GoogleAdsPageProps {
  params: Promise<{ siteId: string }>;
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}

const dryRunRows = 20;

async function GoogleAdsPage({ params, searchParams }: GoogleAdsPageProps) {
  const [address, query] = await Promise.all([params, searchParams]);
  const site = await getSite(address.siteId);
  const { siteId, timezone } = site;
  const isOwner = site.role === "owner";
  const [t, nav, state, delivery] = await Promise.all([
    getTranslations("googleAds"),
    getTranslations("nav"),
    readPage(readConnection, siteId),
    readPage(readSiteDelivery, siteId),
  ]);
  const now = new Date();
  const mayChange = isOwner && site.archivedAt === null;
  const sealName = delivery.conversionNames.seal;
  const status = connectionStatus(state, now);
  const consent = query.consent === "given" || query.consent === "refused" ? query.consent : null;
  const { GOOGLE_OAUTH_CLIENT_ID, GOOGLE_OAUTH_CLIENT_SECRET } = env();
  return (
    <>
      <PageHeader
        title={t("title")}
        note={t("lead")}
        {...(isOwner && { back: { href: sitePath(siteId, "/connections"), label: nav("connections") } })}
      />
      <Page>
        {state.syncMethod === "api" ? (
          <StatusAlert siteId={siteId} status={status} timeZone={timezone} mayFix={mayChange} />
        ) : (
          isOwner && <ScriptStatusAlert siteId={siteId} />
        )}
        <DeliveryWay
          siteId={siteId}
          current={state.syncMethod}
          connected={state.connected}
          hasProblem={status.tone === "blocked"}
          sendsPageViews={delivery.pageViewsEnabled}
          mayChange={mayChange}
        />
        {mayChange && <PauseCard siteId={siteId} timeZone={timezone} isPaused={site.pause !== null} />}
        <ConnectionCard
          // A link to the form, and the return from Google, open the card again.
          key={`${query.connect}/${consent}/${state.connected}`}
          siteId={siteId}
          state={state}
          sealName={sealName}
          timeZone={timezone}
          hasOwnClient={Boolean(GOOGLE_OAUTH_CLIENT_ID && GOOGLE_OAUTH_CLIENT_SECRET)}
          consent={consent}
          isAsked={query.connect === "1"}
          mayChange={mayChange}
        />
        {state.connected && (
          <>
            <HealthCard
              state={state}
              timeZone={timezone}
              now={now.toISOString()}
              reconnectPath={mayChange && state.syncMethod === "script" ? connectPath(siteId) : undefined}
            />
            <ConversionActions
              siteId={siteId}
              customerId={state.account?.customerId ?? ""}
              rows={actionRows(state, delivery)}
              signalsOff={!delivery.signalsEnabled}
              mayChange={mayChange}
            />
            {mayChange && <DryRun siteId={siteId} rows={await readPage(readWaitingRows, siteId, dryRunRows)} timeZone={timezone} />}
          </>
        )}
        {isOwner && state.syncMethod === "script" && <ScriptSection site={site} />}
      </Page>
    </>
  );
}

export default withMessages("dashboard/site/[siteId]/connections/google-ads/page", GoogleAdsPage);
