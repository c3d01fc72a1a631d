import { Download } from "lucide-react";
import type { Metadata } from "next";
import { getLocale, getTranslations } from "next-intl/server";
import { DownloadLink, eventsCsvUrl, invoiceUrl, verifier } from "#components/billing/download-link.tsx";
import { InvoiceSheet } from "#components/billing/invoice-sheet.tsx";
import { PrintButton } from "#components/billing/print-button.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { PageHeader } from "#components/ui/page-header.tsx";
import { readPage } from "#lib/auth/session.ts";
import { billingFormat } from "#lib/billing/billing-format.ts";
import { readInvoice } from "#lib/billing/invoices.ts";
import { getSite } from "#lib/tenancy/readers.ts";

interface InvoicePageProps {
  params: Promise<{ siteId: string; yearMonth: string }>;
}

export async function generateMetadata({ params }: InvoicePageProps): Promise<Metadata> {
  const [t, locale, { yearMonth }] = await Promise.all([getTranslations("billing.invoice"), getLocale(), params]);
  const isMonth = /^\d{4}-(0[1-9]|1[0-2])$/.test(yearMonth);
  return { title: t("title", { month: isMonth ? billingFormat(locale).month(yearMonth) : yearMonth }) };
}

export default async function InvoicePage({ params }: InvoicePageProps) {
  const { siteId, yearMonth } = await params;
  const site = await getSite(siteId);
  const [t, word, locale, invoice] = await Promise.all([
    getTranslations("billing.invoice"),
    getTranslations(),
    getLocale(),
    readPage(readInvoice, site.siteId, yearMonth),
  ]);
  return (
    <>
      <PageHeader
        title={t("title", { month: billingFormat(locale).month(invoice.yearMonth) })}
        back={{ href: sitePath(site.siteId, "/billing"), label: word("nav.billing") }}
      >
        <span className="flex min-w-0 items-center gap-2 print:hidden flex-wrap">
          <DownloadLink href={invoiceUrl(site.siteId, yearMonth, "csv")} fileName={`invoice-${yearMonth}.csv`}>
            <Download className="size-3.5" />
            {word("actions.csv")}
          </DownloadLink>
          <DownloadLink href={invoiceUrl(site.siteId, yearMonth)} fileName={`invoice-${yearMonth}.json`}>
            <Download className="size-3.5" />
            {t("proofFile")}
          </DownloadLink>
          <DownloadLink href={eventsCsvUrl(site.siteId, yearMonth)} fileName={`events-${yearMonth}.csv`}>
            <Download className="size-3.5" />
            {t("eventsFile")}
          </DownloadLink>
          <DownloadLink href={verifier.path} fileName={verifier.fileName}>
            <Download className="size-3.5" />
            {word("billing.check.verifier")}
          </DownloadLink>
          <PrintButton label={t("print")} />
        </span>
      </PageHeader>
      <InvoiceSheet invoice={invoice} siteName={site.name} />
    </>
  );
}
