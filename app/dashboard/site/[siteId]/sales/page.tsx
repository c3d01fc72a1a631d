import { BadgeCheck, Download, Upload } from "lucide-react";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { DownloadLink } from "#components/billing/download-link.tsx";
import { SalesTable } from "#components/sales/sales-table.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { ButtonLink } from "#components/ui/button.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { FilterSelect } from "#components/ui/filter-select.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { filteredPath, PageLinks } from "#components/ui/page-links.tsx";
import { readPage } from "#lib/auth/session.ts";
import { saleStatuses } from "#lib/contracts/states.ts";
import { readSales, saleDeliveries, saleSources, salesFilter } from "#lib/seal/sales-list.ts";
import { getSite } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("sales");
  return { title: t("title") };
}

interface SalesPageProps {
  params: Promise<{ siteId: string }>;
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export default async function SalesPage({ params, searchParams }: SalesPageProps) {
  const site = await getSite((await params).siteId);
  const filter = salesFilter.parse(await searchParams);
  const [t, words, { sales, next }] = await Promise.all([
    getTranslations("sales"),
    getTranslations("filters"),
    readPage(readSales, site.publicId, filter),
  ]);
  const editable = site.role !== "viewer" && site.archivedAt === null;
  const path = sitePath(site.publicId, "/sales");
  const filtered = Boolean(filter.status ?? filter.source ?? filter.delivery);
  const { cursor: _, ...kept } = filter;
  return (
    <>
      <PageHeader title={t("title")}>
        <DownloadLink href={filteredPath(`/api/sites/${site.publicId}/sales`, kept)} fileName="sales.csv">
          <Download className="i i-14" />
          {words("csv")}
        </DownloadLink>
        {editable && (
          <ButtonLink href={`${path}/import`} size="sm" tone="primary">
            <Upload className="i i-14" />
            {t("import")}
          </ButtonLink>
        )}
      </PageHeader>
      <div className="page">
        <div className="row flex-wrap">
          <FilterSelect
            name="status"
            label={t("filterStatus")}
            options={saleStatuses.map((value) => ({ value, label: t(`statuses.${value}`) }))}
          />
          <FilterSelect
            name="source"
            label={t("filterSource")}
            options={saleSources.map((value) => ({ value, label: t(`sources.${value}`) }))}
          />
          <FilterSelect
            name="delivery"
            label={t("filterDelivery")}
            options={saleDeliveries.map((value) => ({ value, label: t(`deliveries.${value}`) }))}
          />
        </div>
        <section className="card" aria-label={t("title")}>
          {sales.length > 0 ? (
            <SalesTable siteId={site.publicId} sales={sales} timeZone={site.timezone} editable={editable} />
          ) : (
            <EmptyState
              icon={BadgeCheck}
              title={filtered ? t("noneFiltered") : t("none")}
              action={filtered && <ButtonLink href={path}>{words("clear")}</ButtonLink>}
            >
              {filtered ? "" : t("noneBody")}
            </EmptyState>
          )}
        </section>
        <PageLinks path={path} filter={filter} next={next} />
      </div>
    </>
  );
}
