import { Download, ShieldCheck } from "lucide-react";
import Link from "next/link";
import { useLocale, useTranslations } from "next-intl";
import { Card } from "#components/ui/card.tsx";
import { Prose } from "#components/ui/prose.tsx";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { BillingOverview, InvoiceSummary } from "#lib/billing/billing-shapes.ts";
import type { SiteId } from "#lib/site.ts";
import { DownloadLink, eventsCsvUrl, invoiceUrl, verifier } from "./download-link.tsx";

interface HowCountedProps {
  overview: BillingOverview;
  eventsHref: string;
  /** null for members who may not see address ranges. */
  originsHref: string | null;
}

/** What one unit is, with a link to every single one and to where they came from. */
export function HowCounted({ overview, eventsHref, originsHref }: HowCountedProps) {
  const t = useTranslations("billing.how");
  const word = useTranslations("billing.origins");
  const format = billingFormat(useLocale(), overview.currency);
  return (
    <Card title={t("title")}>
      <Prose className="p-4">
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
        {originsHref && (
          <p>
            <Link className="link tap" href={originsHref}>
              {word("see")}
            </Link>
          </p>
        )}
      </Prose>
    </Card>
  );
}

/** The newest invoice's proof and its events, for anyone who wants to recount. */
export function CheckYourself({ siteId, newest }: { siteId: SiteId; newest: InvoiceSummary | undefined }) {
  const t = useTranslations("billing.check");
  const format = billingFormat(useLocale(), newest?.currency);
  return (
    <Card className="px-4 py-3.5">
      <div className="flex min-w-0 items-start gap-3">
        <ShieldCheck className="size-4.5 text-completed" />
        <div className="min-w-0 flex-1">
          <h2>{t("title")}</h2>
          <p className="text-sm text-support mt-1 text-pretty">{t(newest ? "body" : "later")}</p>
          {newest && (
            <div className="flex min-w-0 items-center gap-2 flex-wrap mt-2.5">
              <DownloadLink href={invoiceUrl(siteId, newest.yearMonth)} fileName={`invoice-${newest.yearMonth}.json`}>
                <Download className="size-3.5" />
                {t("proof", { month: format.monthName(newest.yearMonth) })}
              </DownloadLink>
              <DownloadLink href={eventsCsvUrl(siteId, newest.yearMonth)} fileName={`events-${newest.yearMonth}.csv`}>
                <Download className="size-3.5" />
                {t("events", { month: format.monthName(newest.yearMonth) })}
              </DownloadLink>
              <DownloadLink href={verifier.path} fileName={verifier.fileName}>
                <Download className="size-3.5" />
                {t("verifier")}
              </DownloadLink>
            </div>
          )}
        </div>
      </div>
    </Card>
  );
}
