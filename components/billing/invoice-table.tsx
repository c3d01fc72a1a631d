import { CircleCheck, Clock, Download, Lock, Printer } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { sitePath } from "#components/shell/nav-items.ts";
import { ButtonLink } from "#components/ui/button.tsx";
import { cn } from "#components/ui/cn.ts";
import { Cell, Table } from "#components/ui/table.tsx";
import { billingFormat, shortHash } from "#lib/billing/billing-format.ts";
import type { InvoiceSummary } from "#lib/billing/billing-shapes.ts";
import type { SiteId } from "#lib/site.ts";
import { DownloadLink, invoiceUrl } from "./download-link.tsx";

/** Amounts end and words begin side by side: they need room between them. */
const beside = "desk:pl-6";

/** Closed months. What a customer has paid is not known here, so no invoice claims it. */
export function InvoiceTable({ siteId, invoices, now }: { siteId: SiteId; invoices: InvoiceSummary[]; now: string }) {
  const t = useTranslations();
  const locale = useLocale();
  const columns = [
    { key: "month", header: t("labels.month") },
    { key: "events", header: t("labels.events"), width: "96px", align: "end" as const },
    { key: "amount", header: t("labels.amount"), width: "120px", align: "end" as const },
    { key: "state", header: t("labels.state"), width: "190px", className: beside },
    { key: "proof", header: t("labels.proof"), width: "112px", priority: 2 as const },
    { key: "actions", header: t("labels.actions"), hidden: true, width: "92px", align: "end" as const },
  ];
  return (
    <Table label={t("billing.invoices.title")} columns={columns}>
      {invoices.map(({ yearMonth, eventCount, totalCents, currency, contentHash, dueAt }) => {
        const format = billingFormat(locale, currency);
        const month = format.month(yearMonth);
        return (
          <tr key={yearMonth}>
            <Cell at="main" className="font-medium">
              {month}
            </Cell>
            <Cell at="desk" align="end" className="text-support">
              {format.number(eventCount)}
            </Cell>
            <Cell at="end" align="end" className="font-medium">
              {format.money(totalCents)}
            </Cell>
            <Cell at="sub" className={beside}>
              <InvoiceState totalCents={totalCents} isDue={dueAt > now} due={format.shortDay(dueAt)} />
            </Cell>
            <Cell at="desk" priority={2} className="text-meta id" title={contentHash}>
              {shortHash(contentHash)}
            </Cell>
            <Cell at="meta" align="end">
              <span className="flex min-w-0 items-center justify-end gap-0.5">
                <DownloadLink
                  look="icon"
                  href={invoiceUrl(siteId, yearMonth, "csv")}
                  fileName={`invoice-${yearMonth}.csv`}
                  label={t("billing.invoices.csv", { month })}
                >
                  <Download />
                </DownloadLink>
                <ButtonLink
                  tone="ghost"
                  size="sm"
                  icon
                  href={sitePath(siteId, `/billing/invoices/${yearMonth}`)}
                  aria-label={t("billing.invoices.open", { month })}
                  title={t("billing.invoices.open", { month })}
                >
                  <Printer />
                </ButtonLink>
              </span>
            </Cell>
          </tr>
        );
      })}
    </Table>
  );
}

/** Icon, word and colour. */
function InvoiceState({ totalCents, isDue, due }: { totalCents: number; isDue: boolean; due: string }) {
  const t = useTranslations("billing.invoices");
  const [Icon, tone, word] =
    totalCents <= 0
      ? ([CircleCheck, "text-completed", t("nothingDue")] as const)
      : isDue
        ? ([Clock, "text-retry", t("due", { date: due })] as const)
        : ([Lock, "text-support", t("closed")] as const);
  return (
    <span className={cn("flex min-w-0 items-center gap-1.5", tone)}>
      <Icon className="size-3.5" />
      {word}
    </span>
  );
}
