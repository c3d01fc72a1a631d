import { Upload } from "lucide-react";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { ImportSales } from "#components/sales/import-sales.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { ButtonLink } from "#components/ui/button.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { getSite } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("salesImport");
  return { title: t("title") };
}

async function ImportSalesPage({ params }: { params: Promise<{ siteId: string }> }) {
  const site = await getSite((await params).siteId);
  const [t, nav] = await Promise.all([getTranslations("salesImport"), getTranslations("nav")]);
  const sales = sitePath(site.siteId, "/sales");
  return (
    <>
      <PageHeader title={t("title")} back={{ href: sales, label: nav("sales") }} />
      <Page>
        {site.role === "viewer" || site.archivedAt !== null ? (
          <EmptyState icon={Upload} title={t("operatorsOnly")} action={<ButtonLink href={sales}>{t("back")}</ButtonLink>}>
            {""}
          </EmptyState>
        ) : (
          <ImportSales siteId={site.siteId} currency={site.currency} timezone={site.timezone} />
        )}
      </Page>
    </>
  );
}

export default withMessages("dashboard/site/[siteId]/sales/import/page", ImportSalesPage);
