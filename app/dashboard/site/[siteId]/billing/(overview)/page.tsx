import { Receipt } from "lucide-react";
import type { Metadata } from "next";
import Link from "next/link";
import { getLocale, getTranslations } from "next-intl/server";
import { ArrivalsCard } from "#components/billing/arrivals-card.tsx";
import { billingColumns } from "#components/billing/billing-columns.ts";
import { CreditsCard } from "#components/billing/credits-card.tsx";
import { DailyChart } from "#components/billing/daily-chart.tsx";
import { CheckYourself, HowCounted } from "#components/billing/explained.tsx";
import { InvoiceTable } from "#components/billing/invoice-table.tsx";
import { LeadRoomCard } from "#components/billing/lead-room-card.tsx";
import { UnusualDays } from "#components/billing/unusual-days.tsx";
import { UsageCard } from "#components/billing/usage-card.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { LiveMark } from "#components/ui/live-mark.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { TimeAgo } from "#components/ui/time.tsx";
import { readPage } from "#lib/auth/session.ts";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { BillingOverview } from "#lib/billing/billing-shapes.ts";
import { forecastMonth } from "#lib/billing/forecast.ts";
import { readBillingOverview, readInvoices } from "#lib/billing/invoices.ts";
import { daysOf } from "#lib/billing/year-month.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { getSite } from "#lib/tenancy/readers.ts";
import { hasRole } from "#lib/tenancy/site-roles.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("nav");
  return { title: t("billing") };
}

interface BillingPageProps {
  params: Promise<{ siteId: string }>;
  searchParams: Promise<{ invoices?: string }>;
}

/** The table shows a year; the rest is one link away. */
const invoicesShown = 12;

async function BillingPage({ params, searchParams }: BillingPageProps) {
  const site = await getSite((await params).siteId);
  const [t, nav, locale, overview, invoices] = await Promise.all([
    getTranslations("billing"),
    getTranslations("nav"),
    getLocale(),
    readPage(readBillingOverview, site.siteId),
    readPage(readInvoices, site.siteId),
  ]);
  const format = billingFormat(locale, overview.currency);
  const forecast = forecastMonth(overview);
  const eventsHref = sitePath(site.siteId, "/billing/events");
  const originsHref = hasRole(site.role, "operator") ? sitePath(site.siteId, "/billing/origins") : null;
  const isNew = overview.used === 0 && overview.daysBefore.length === 0;
  const showsAll = (await searchParams).invoices === "all" || invoices.length <= invoicesShown;
  const lastDay = daysOf(overview.yearMonth).at(-1) ?? overview.yearMonth;
  return (
    <>
      <PageHeader title={nav("billing")} note={t("period", { from: 1, to: format.longDay(lastDay) })}>
        <CountedNote overview={overview} timeZone={site.timezone} />
      </PageHeader>
      <div className={billingColumns}>
        <Page>
          <UnusualDays days={overview.unusualDays} originsHref={originsHref} />
          <UsageCard overview={overview} forecast={forecast} />
          {isNew ? (
            <Card>
              <EmptyState icon={Receipt} title={t("empty.title")}>
                {t("empty.body")}
              </EmptyState>
            </Card>
          ) : (
            <Card title={t("chart.title")} end={<Legend />}>
              <DailyChart days={forecast.days} today={overview.now.slice(0, 10)} currency={overview.currency} />
            </Card>
          )}
          <Card
            title={t("invoices.title")}
            end={
              !showsAll && (
                <Link className="text-sm link tap" href="?invoices=all">
                  {t("invoices.all", { count: invoices.length })}
                </Link>
              )
            }
          >
            {invoices.length === 0 ? (
              <p className="p-4 text-sm text-support">{t("invoices.none")}</p>
            ) : (
              <InvoiceTable siteId={site.siteId} invoices={showsAll ? invoices : invoices.slice(0, invoicesShown)} now={overview.now} />
            )}
          </Card>
        </Page>
        <Page>
          {overview.plan.capEvents !== null && (
            <LeadRoomCard siteId={site.siteId} plan={overview.plan} editable={site.role === "owner" && site.archivedAt === null} />
          )}
          <ArrivalsCard overview={overview} eventsHref={eventsHref} />
          {overview.credits.length > 0 && <CreditsCard credits={overview.credits} />}
          <HowCounted overview={overview} eventsHref={eventsHref} originsHref={originsHref} />
          <CheckYourself siteId={site.siteId} newest={invoices[0]} />
        </Page>
      </div>
    </>
  );
}

/** When the running figure was last compared with the ledger, and whether it had to be corrected. */
async function CountedNote({ overview, timeZone }: { overview: BillingOverview; timeZone: string }) {
  const [t, locale] = await Promise.all([getTranslations("billing"), getLocale()]);
  const { reconciledAt, drift } = overview;
  if (!reconciledAt) return <LiveMark>{t("countedNow")}</LiveMark>;
  const ago = () => <TimeAgo value={reconciledAt} timeZone={timeZone} />;
  const words = drift ? t.rich("corrected", { ago, count: billingFormat(locale).number(Math.abs(drift)) }) : t.rich("counted", { ago });
  return (
    <LiveMark>
      <span>{words}</span>
    </LiveMark>
  );
}

async function Legend() {
  const t = await getTranslations("billing.chart");
  return (
    <span className="flex flex-wrap gap-x-3.5 gap-y-1 text-xs text-support *:inline-flex *:items-center *:gap-1.5 *:whitespace-nowrap">
      <span>
        <i className="size-2.25 rounded-[2px] bg-accent-mark" />
        {t("counted")}
      </span>
      <span>
        <i className="size-2.25 rounded-[2px] bg-accent-line" />
        {t("forecast")}
      </span>
    </span>
  );
}

export default withMessages("dashboard/site/[siteId]/billing/(overview)/page", BillingPage);
