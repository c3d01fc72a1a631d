import { Download, Receipt } from "lucide-react";
import type { Metadata } from "next";
import { getLocale, getTranslations } from "next-intl/server";
import { DownloadLink, eventsCsvUrl } from "#components/billing/download-link.tsx";
import { EventsTable, MonthChoice } from "#components/billing/events-table.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { ButtonLink } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { LiveMark } from "#components/workbench/live/live-mark.tsx";
import { readPage } from "#lib/auth/session.ts";
import { billingFormat } from "#lib/billing/billing-format.ts";
import { readCountedEvents } from "#lib/billing/counted-events.ts";
import { shiftMonth } from "#lib/billing/year-month.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { getVersionedSite } from "#lib/tenancy/readers.ts";

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

async function CountedEventsPage({ params, searchParams }: EventsPageProps) {
  const site = await getVersionedSite((await params).siteId, "events");
  const page = await searchParams;
  const [t, nav, words, locale, listed] = await Promise.all([
    getTranslations("billing.events"),
    getTranslations("nav"),
    getTranslations("filters"),
    getLocale(),
    readPage(readCountedEvents, site.siteId, page),
  ]);
  const format = billingFormat(locale);
  const hrefOf = (month: string) => `${sitePath(site.siteId, "/billing/events")}?month=${month}`;
  const thisMonth = new Date().toISOString().slice(0, 7);
  const months = Array.from({ length: keptMonths + 1 }, (_, index) => shiftMonth(thisMonth, index - keptMonths));
  return (
    <>
      <PageHeader
        title={t("title")}
        back={{ href: sitePath(site.siteId, "/billing"), label: nav("billing") }}
        note={
          listed.total === null
            ? format.month(listed.yearMonth)
            : t("count", { count: format.number(listed.total), month: format.month(listed.yearMonth) })
        }
      >
        <LiveMark siteId={site.siteId} of="events" version={site.version} />
        <DownloadLink href={eventsCsvUrl(site.siteId, listed.yearMonth)} fileName={`events-${listed.yearMonth}.csv`}>
          <Download className="size-3.5" />
          {t("csv")}
        </DownloadLink>
      </PageHeader>
      <Page>
        <div className="flex min-w-0 flex-wrap items-center gap-2">
          <MonthChoice months={months} chosen={listed.yearMonth} hrefOf={hrefOf} />
          <span className="text-pretty text-meta text-sm">{t("kept")}</span>
        </div>
        <Card aria-label={t("title")}>
          {listed.events.length === 0 ? (
            <EmptyState icon={Receipt} title={t("none")}>
              {t("noneBody")}
            </EmptyState>
          ) : (
            <EventsTable events={listed.events} next={listed.next} of={`${listed.yearMonth} ${page.cursor}`} />
          )}
        </Card>
        <nav className="flex min-w-0 items-center justify-between gap-2" aria-label={words("pages")}>
          {page.cursor ? <ButtonLink href={hrefOf(listed.yearMonth)}>{words("first")}</ButtonLink> : <span />}
          {listed.next && (
            <ButtonLink href={`${hrefOf(listed.yearMonth)}&cursor=${encodeURIComponent(listed.next)}`}>{words("next")}</ButtonLink>
          )}
        </nav>
      </Page>
    </>
  );
}

export default withMessages("dashboard/site/[siteId]/billing/events/page", CountedEventsPage);
