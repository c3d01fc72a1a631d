import { Download, Receipt } from "lucide-react";
import type { Metadata } from "next";
import { getLocale, getTranslations } from "next-intl/server";
import { DownloadLink, eventsCsvUrl } from "#components/billing/download-link.tsx";
import { EventsTable, MonthChoice } from "#components/billing/events-table.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { ButtonLink } from "#components/ui/button.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { readPage } from "#lib/auth/session.ts";
import { billingFormat } from "#lib/billing/billing-format.ts";
import { readCountedEvents } from "#lib/billing/counted-events.ts";
import { shiftMonth } from "#lib/billing/year-month.ts";
import { getSite } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("billing.events");
  return { title: t("title") };
}

interface EventsPageProps {
  params: Promise<{ siteId: string }>;
  searchParams: Promise<{ month?: string; cursor?: string }>;
}

/** How many months before this one still have their events. */
const keptMonths = 3;

export default async function CountedEventsPage({ params, searchParams }: EventsPageProps) {
  const site = await getSite((await params).siteId);
  const page = await searchParams;
  const [t, locale, listed] = await Promise.all([
    getTranslations("billing.events"),
    getLocale(),
    readPage(readCountedEvents, site.publicId, page),
  ]);
  const format = billingFormat(locale);
  const hrefOf = (month: string) => `${sitePath(site.publicId, "/billing/events")}?month=${month}`;
  const thisMonth = new Date().toISOString().slice(0, 7);
  const months = Array.from({ length: keptMonths + 1 }, (_, index) => shiftMonth(thisMonth, index - keptMonths));
  return (
    <>
      <PageHeader
        title={t("title")}
        note={
          listed.total === null
            ? format.month(listed.yearMonth)
            : t("count", { count: format.number(listed.total), month: format.month(listed.yearMonth) })
        }
      >
        <DownloadLink href={eventsCsvUrl(site.publicId, listed.yearMonth)} fileName={`events-${listed.yearMonth}.csv`}>
          <Download className="i i-14" />
          {t("csv")}
        </DownloadLink>
      </PageHeader>
      <div className="page">
        <div className="row flex-wrap">
          <MonthChoice months={months} chosen={listed.yearMonth} hrefOf={hrefOf} />
          <span className="sm t3 text-pretty">{t("kept")}</span>
        </div>
        <section className="card" aria-label={t("title")}>
          {listed.events.length === 0 ? (
            <EmptyState icon={Receipt} title={t("none")}>
              {t("noneBody")}
            </EmptyState>
          ) : (
            <EventsTable events={listed.events} />
          )}
        </section>
        <nav className="row justify-between" aria-label={t("pages")}>
          {page.cursor ? <ButtonLink href={hrefOf(listed.yearMonth)}>{t("first")}</ButtonLink> : <span />}
          {listed.next && (
            <ButtonLink href={`${hrefOf(listed.yearMonth)}&cursor=${encodeURIComponent(listed.next)}`}>{t("next")}</ButtonLink>
          )}
        </nav>
      </div>
    </>
  );
}
