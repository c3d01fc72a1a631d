import { getTranslations } from "next-intl/server";
import type { ReactNode } from "react";
import { sitePath } from "#components/shell/nav-items.ts";
import { Alert } from "#components/ui/alert.tsx";
import { ButtonLink } from "#components/ui/button.tsx";
import { getSite } from "#lib/tenancy/readers.ts";

interface SiteLayoutProps {
  children: ReactNode;
  params: Promise<{ siteId: string }>;
}

/** Reads the site before anything is sent, so that an unknown one answers 404 and not a page that says so. */
export default async function SiteLayout({ children, params }: SiteLayoutProps) {
  const [t, site] = await Promise.all([getTranslations("archive"), params.then(({ siteId }) => getSite(siteId))]);
  const settings = site.role === "owner" && <ButtonLink href={sitePath(site.publicId, "/settings")}>{t("openSettings")}</ButtonLink>;
  return (
    <>
      {site.archivedAt && (
        <Alert tone="blocked" className="mt-4" title={t("isArchived")} action={settings}>
          {t("isArchivedNext")}
        </Alert>
      )}
      {children}
    </>
  );
}
