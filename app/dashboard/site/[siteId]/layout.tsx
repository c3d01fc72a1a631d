import { getTranslations } from "next-intl/server";
import type { ReactNode } from "react";
import { Alert } from "#components/ui/alert.tsx";
import { getSite } from "#lib/tenancy/readers.ts";

interface SiteLayoutProps {
  children: ReactNode;
  params: Promise<{ siteId: string }>;
}

/** Reads the site before anything is sent, so that an unknown one answers 404 and not a page that says so. */
export default async function SiteLayout({ children, params }: SiteLayoutProps) {
  const [t, site] = await Promise.all([getTranslations("archive"), params.then(({ siteId }) => getSite(siteId))]);
  return (
    <>
      {site.archivedAt && (
        <Alert tone="blocked" className="mt-4" title={t("isArchived")}>
          {t("isArchivedNext")}
        </Alert>
      )}
      {children}
    </>
  );
}
