import { BadgeCheck, Download, Upload } from "lucide-react";
import type { Metadata } from "next";
import Link from "next/link";
import { getLocale, getTranslations } from "next-intl/server";
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
import { Clock } from "#components/workbench/live/clock.tsx";
import { LiveMark } from "#components/workbench/live/live-mark.tsx";
import { readPage } from "#lib/auth/session.ts";
import { saleStates, saleStatuses } from "#lib/contracts/states.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { readSales, saleDeliveries, saleSorts, saleSources, salesFilter } from "#lib/seal/sales-list.ts";
import { getVersionedSite } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("nav");
  return { title: t("sales") };
}

const deliveryWords = { sent: "sent", waiting: "waiting", never: "NOT_SENT", failed: "FAILED" } as const;

interface SalesPageProps {
  params: Promise<{ siteId: string }>;
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}

async function SalesPage({ params, searchParams }: SalesPageProps) {
  const site = await getVersionedSite((await params).siteId, "sales");
  const filter = salesFilter.parse(await searchParams);
  const [t, word, locale, { sales, next, totals }] = await Promise.all([
    getTranslations("sales"),
    getTranslations(),
    getLocale(),
    readPage(readSales, site.siteId, filter),
  ]);
  const editable = site.role !== "viewer" && site.archivedAt === null;
  const path = sitePath(site.siteId, "/sales");
  const { cursor: _, ...kept } = filter;
  const { sort: __, ...narrowing } = kept;
  const filtered = Object.values(narrowing).some(Boolean);
  const today = new Intl.DateTimeFormat("sv-SE", { timeZone: site.timezone }).format(new Date());
  const sums = Object.entries(totals?.confirmedCents ?? {}).map(([currency, cents]) =>
    siteFormat({ locale, timeZone: site.timezone, currency }).money(cents),
  );
  return (
    <>
      <PageHeader
        title={word("nav.sales")}
        note={totals && totals.count > 0 && t("totals", { count: totals.count, sum: sums.join(" + ") || "0" })}
      >
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
          narrowedTo={["sale"]}
          fields={[
            { key: "q", kind: "text", label: word("oci.keys.search") },
            { key: "from", kind: "day", label: word("desk.filter.from"), max: filter.to ?? today },
            { key: "to", kind: "day", label: word("desk.filter.to"), max: today },
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
              options: saleDeliveries.map((value) => ({ value, label: word(`states.${deliveryWords[value]}`) })),
            },
            {
              key: "sort",
              kind: "choice",
              label: word("filters.sort"),
              any: t("sorts.newest"),
              options: saleSorts.map((value) => ({ value, label: t(`sorts.${value}`) })),
            },
          ]}
        />
        {filter.sale && sales.length > 0 && (
          <p className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1 text-sm text-support">
            {t("one")}
            <Link className="link" href={path}>
              {word("actions.showAll")}
            </Link>
          </p>
        )}
        <Card aria-label={word("nav.sales")}>
          {sales.length > 0 ? (
            <Clock at={new Date().toISOString()}>
              <SalesTable
                siteId={site.siteId}
                sales={sales}
                next={next}
                of={JSON.stringify(filter)}
                timeZone={site.timezone}
                editable={editable}
                sort={{ path, filter: kept }}
              />
            </Clock>
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

export default withMessages("dashboard/site/[siteId]/sales/page", SalesPage);
