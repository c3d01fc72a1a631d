import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { SetupList } from "#components/setup/setup-list.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { OwnersOnly } from "#components/shell/owners-only.tsx";
import { Alert } from "#components/ui/alert.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { LiveMark } from "#components/workbench/live/live-mark.tsx";
import { readPage } from "#lib/auth/session.ts";
import { env } from "#lib/env.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { readCallSecret } from "#lib/ingest/call-secret.ts";
import { customerScript } from "#lib/oci/script/customer-script.ts";
import { getVersionedSite, readSiteDelivery } from "#lib/tenancy/readers.ts";
import { readSiteSetup } from "#lib/tenancy/site-setup.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("setup");
  return { title: t("title") };
}

/** From a new site to its first delivered conversion: live ticks, each with what to paste, a test, and what to do while it stays open. */
async function SetupPage({ params }: { params: Promise<{ siteId: string }> }) {
  const site = await getVersionedSite((await params).siteId, "setup");
  const { siteId } = site;
  if (site.role !== "owner") return <OwnersOnly siteId={siteId} />;
  const [t, nav, setup, delivery, secret] = await Promise.all([
    getTranslations("setup"),
    getTranslations("nav"),
    readPage(readSiteSetup, siteId),
    readPage(readSiteDelivery, siteId),
    readPage(readCallSecret, siteId),
  ]);
  const done = setup.steps.filter(({ at }) => at !== null).length;
  const appUrl = env().APP_URL;
  return (
    <>
      <PageHeader
        title={t("title")}
        note={t("progress", { done, total: setup.steps.length })}
        back={{ href: sitePath(siteId, "/connections"), label: nav("connections") }}
      >
        <LiveMark siteId={siteId} of="setup" version={site.version} />
      </PageHeader>
      <Page className="max-w-200">
        {done === setup.steps.length ? (
          <Alert tone="completed" title={t("allDone")}>
            {t("allDoneNext")}
          </Alert>
        ) : (
          <p className="text-sm text-support text-pretty">{t("lead")}</p>
        )}
        <SetupList
          site={site}
          setup={setup}
          delivery={delivery}
          secret={secret}
          appUrl={appUrl}
          script={site.ociSyncMethod === "script" ? customerScript({ siteId, appUrl }) : ""}
        />
      </Page>
    </>
  );
}

export default withMessages("dashboard/site/[siteId]/setup/page", SetupPage);
