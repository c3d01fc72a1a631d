import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import type { ReactNode } from "react";
import { PauseBanner } from "#components/delivery/pause-banner.tsx";
import { Alert } from "#components/ui/alert.tsx";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { getSite } from "#lib/tenancy/readers.ts";

export async function generateMetadata({ params }: SiteLayoutProps): Promise<Metadata> {
  // An unknown site is answered by the layout below; here it only has no name.
  const site = await getSite((await params).siteId).catch(() => null);
  return site ? { title: { template: `%s · ${site.name}`, default: site.name } } : {};
}

interface SiteLayoutProps {
  children: ReactNode;
  params: Promise<{ siteId: string }>;
}

/** Reads the site before anything is sent, so that an unknown one answers 404 and not a page that says so. */
async function SiteLayout({ children, params }: SiteLayoutProps) {
  const [t, site] = await Promise.all([getTranslations("archive"), params.then(({ siteId }) => getSite(siteId))]);
  return (
    <>
      {site.archivedAt && (
        <Alert tone="blocked" className="mt-4" title={t("isArchived")}>
          {t("isArchivedNext")}
        </Alert>
      )}
      {site.pause && !site.archivedAt && <PauseBanner site={site} pause={site.pause} />}
      {children}
    </>
  );
}

export default withMessages("dashboard/site/[siteId]/layout", SiteLayout);
