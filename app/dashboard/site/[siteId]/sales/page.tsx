import { BadgeCheck, Download, Upload } from "lucide-react";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { DownloadLink } from "#components/billing/download-link.tsx";
import { SalesTable } from "#components/sales/sales-table.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { ButtonLink } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { filteredPath, PageLinks } from "#components/ui/page-links.tsx";
import { FilterRow } from "#components/workbench/filter/filter-row.tsx";
import { LiveMark } from "#components/workbench/live/live-mark.tsx";
import { readPage } from "#lib/auth/session.ts";
import { saleStates, saleStatuses } from "#lib/contracts/states.ts";
import { readSales, saleDeliveries, saleSources, salesFilter } from "#lib/seal/sales-list.ts";
import { getVersionedSite } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("nav");
  return { title: t("sales") };
}

interface SalesPageProps {
  params: Promise<{ siteId: string }>;
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export default async function SalesPage({ params, searchParams }: SalesPageProps) {
  const site = await getVersionedSite((await params).siteId, "sales");
  const filter = salesFilter.parse(await searchParams);
  const [t, word, { sales, next }] = await Promise.all([
    getTranslations("sales"),
    getTranslations(),
    readPage(readSales, site.siteId, filter),
  ]);
  const editable = site.role !== "viewer" && site.archivedAt === null;
  const path = sitePath(site.siteId, "/sales");
  const filtered = Boolean(filter.status ?? filter.source ?? filter.delivery);
  const { cursor: _, ...kept } = filter;
  return (
    <>
      <PageHeader title={word("nav.sales")}>
        <LiveMark siteId={site.siteId} of="sales" version={site.version} />
        <DownloadLink href={filteredPath(`/api/sites/${site.siteId}/sales`, kept)} fileName="sales.csv">
          <Download className="size-3.5" />
          {word("actions.csv")}
        </DownloadLink>
        {editable && (
          <ButtonLink href={`${path}/import`} size="sm" tone="primary">
            <Upload className="size-3.5" />
            {t("import")}
          </ButtonLink>
        )}
      </PageHeader>
      <Page>
        <FilterRow
          fields={[
            {
              key: "status",
              kind: "choice",
              label: word("labels.state"),
              options: saleStatuses.map((value) => ({ value, label: word(`states.${saleStates[value]}`) })),
            },
            {
              key: "source",
              kind: "choice",
              label: word("labels.from"),
              options: saleSources.map((value) => ({ value, label: t(`sources.${value}`) })),
            },
            {
              key: "delivery",
              kind: "choice",
              label: word("who.google"),
              options: saleDeliveries.map((value) => ({ value, label: word(`states.${value === "failed" ? "FAILED" : value}`) })),
            },
          ]}
        />
        <Card aria-label={word("nav.sales")}>
          {sales.length > 0 ? (
            <SalesTable
              siteId={site.siteId}
              sales={sales}
              next={next}
              of={JSON.stringify(filter)}
              timeZone={site.timezone}
              editable={editable}
            />
          ) : (
            <EmptyState
              icon={BadgeCheck}
              title={filtered ? t("noneFiltered") : t("none")}
              action={filtered && <ButtonLink href={path}>{word("actions.clearFilters")}</ButtonLink>}
            >
              {filtered ? "" : t("noneBody")}
            </EmptyState>
          )}
        </Card>
        <PageLinks path={path} filter={filter} next={next} />
      </Page>
    </>
  );
}
