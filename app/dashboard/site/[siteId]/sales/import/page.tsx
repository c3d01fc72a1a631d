import { Upload } from "lucide-react";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { ImportSales } from "#components/sales/import-sales.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { ButtonLink } from "#components/ui/button.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { getSite } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("salesImport");
  return { title: t("title") };
}

export default async function ImportSalesPage({ params }: { params: Promise<{ siteId: string }> }) {
  const site = await getSite((await params).siteId);
  const t = await getTranslations("salesImport");
  const back = <ButtonLink href={sitePath(site.siteId, "/sales")}>{t("back")}</ButtonLink>;
  return (
    <>
      <PageHeader title={t("title")}>{back}</PageHeader>
      <div className="page">
        {site.role === "viewer" || site.archivedAt !== null ? (
          <EmptyState icon={Upload} title={t("operatorsOnly")} action={back}>
            {""}
          </EmptyState>
        ) : (
          <ImportSales siteId={site.siteId} currency={site.currency} timezone={site.timezone} />
        )}
      </div>
    </>
  );
}
