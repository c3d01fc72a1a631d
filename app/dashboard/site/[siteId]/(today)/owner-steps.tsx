import { getLocale, getTranslations } from "next-intl/server";
import { SetupCard } from "#components/setup/setup-card.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { LiveMark } from "#components/workbench/live/live-mark.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { getVersionedSite } from "#lib/tenancy/readers.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";
import type { SiteSetup } from "#lib/tenancy/site-setup.ts";

/** Until the first lead: the list of what is left to do. No figure is invented. */
export async function OwnerSteps({ site, setup }: { site: SiteSummary; setup: SiteSetup }) {
  const [nav, locale, { version }] = await Promise.all([getTranslations("nav"), getLocale(), getVersionedSite(site.siteId, "setup")]);
  return (
    <>
      <PageHeader title={nav("today")} note={siteFormat({ locale, timeZone: site.timezone }).weekday(new Date())}>
        <LiveMark siteId={site.siteId} of="setup" version={version} />
      </PageHeader>
      <Page narrow>
        <SetupCard siteId={site.siteId} setup={setup} />
      </Page>
    </>
  );
}
