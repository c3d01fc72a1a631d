import { Download, ShieldCheck } from "lucide-react";
import Link from "next/link";
import { useLocale, useTranslations } from "next-intl";
import { Card } from "#components/ui/card.tsx";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { BillingOverview, InvoiceSummary } from "#lib/billing/billing-shapes.ts";
import { DownloadLink, eventsCsvUrl, invoiceUrl } from "./download-link.tsx";

/** What one unit is, in plain words, with the way to every single one. */
export function HowCounted({ overview, eventsHref }: { overview: BillingOverview; eventsHref: string }) {
  const t = useTranslations("billing.how");
  const format = billingFormat(useLocale(), overview.currency);
  return (
    <Card title={t("title")}>
      <div className="card-b prose">
        <p>{t.rich("unit", { b: (words) => <b>{words}</b> })}</p>
        <p>{t("ledger")}</p>
        <p>{t("month")}</p>
        {overview.used > 0 && (
          <p>
            <Link className="link tap" href={eventsHref}>
              {t("seeAll", { count: format.number(overview.used) })}
            </Link>
          </p>
        )}
      </div>
    </Card>
  );
}

/** The newest invoice's proof and its events, for whoever wants to count again. */
export function CheckYourself({ siteId, newest }: { siteId: string; newest: InvoiceSummary | undefined }) {
  const t = useTranslations("billing.check");
  const format = billingFormat(useLocale(), newest?.currency);
  return (
    <div className="card px-4 py-3.5">
      <div className="row row-3 items-start">
        <ShieldCheck className="i i-18 fg-completed" />
        <div className="grow">
          <h2>{t("title")}</h2>
          <p className="sm t2 mt-1 text-pretty">{t(newest ? "body" : "later")}</p>
          {newest && (
            <div className="row flex-wrap mt-2.5">
              <DownloadLink href={invoiceUrl(siteId, newest.yearMonth)} fileName={`invoice-${newest.yearMonth}.json`}>
                <Download className="i i-14" />
                {t("proof", { month: format.monthName(newest.yearMonth) })}
              </DownloadLink>
              <DownloadLink href={eventsCsvUrl(siteId, newest.yearMonth)} fileName={`events-${newest.yearMonth}.csv`}>
                <Download className="i i-14" />
                {t("events", { month: format.monthName(newest.yearMonth) })}
              </DownloadLink>
            </div>
          )}
        </div>
      </div>
    </div>
  );
}
