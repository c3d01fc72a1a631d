import { useLocale, useTranslations } from "next-intl";
import { brandName } from "#components/ui/brand.tsx";
import { Card } from "#components/ui/card.tsx";
import { Facts } from "#components/ui/facts.tsx";
import { Id, paper } from "#components/ui/paper.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { Invoice } from "#lib/billing/billing-shapes.ts";

/** The invoice as it goes on paper: what was counted, what it costs, and how to prove it. */
export function InvoiceSheet({ invoice, siteName }: { invoice: Invoice; siteName: string }) {
  const t = useTranslations();
  const format = billingFormat(useLocale(), invoice.currency);
  return (
    <Card as="article" className={paper}>
      <div className="flex flex-wrap justify-between gap-4 px-6 pt-6 pb-5 max-desk:p-4">
        <div>
          <p className="text-base font-semibold tracking-[-0.003em]">{brandName}</p>
          <p className="text-support text-sm">{t("billing.invoice.forSite", { site: siteName })}</p>
        </div>
        <Facts
          facts={[
            [t("labels.month"), t("billing.invoice.monthUtc", { month: format.month(invoice.yearMonth) })],
            [t("billing.invoice.frozen"), format.date(invoice.frozenAt)],
            [t("billing.invoice.due"), format.date(invoice.dueAt)],
            [t("labels.siteId"), <Id key="site">{invoice.site}</Id>],
          ]}
        />
      </div>
      <InvoiceLines invoice={invoice} />
      <InvoiceProof invoice={invoice} />
    </Card>
  );
}

function InvoiceLines({ invoice }: { invoice: Invoice }) {
  const t = useTranslations("billing.invoice");
  const word = useTranslations();
  const format = billingFormat(useLocale(), invoice.currency);
  const lines = [
    {
      key: "plan",
      words: invoice.planName === null ? t("noPlan") : t("plan", { plan: invoice.planName }),
      note: invoice.monthlyLimit === null ? t("noLimit") : t("includes", { limit: format.number(invoice.monthlyLimit) }),
      events: invoice.eventCount,
      cents: invoice.baseCents,
    },
    ...(invoice.overageEvents > 0
      ? [
          {
            key: "overage",
            words: t("overage"),
            note: t("per1000", { price: format.money(invoice.overageCentsPer1000) }),
            events: invoice.overageEvents,
            cents: invoice.overageCents,
          },
        ]
      : []),
    ...invoice.adjustments.map(({ yearMonth, events, cents, eventCount }) => ({
      key: yearMonth,
      words: t("adjustment", { month: format.month(yearMonth) }),
      note: t("adjustmentNote", { count: format.number(eventCount) }),
      events,
      cents,
    })),
    ...invoice.credits.map(({ id, day, units, dayEvents, reason, cents }) => ({
      key: id,
      words: t("credit", { day: format.longDay(day) }),
      note: [t("creditNote", { units: format.number(units), count: format.number(dayEvents) }), reason].filter(Boolean).join(". "),
      events: -units,
      cents,
    })),
  ];
  const columns = [
    { key: "line", header: word("labels.line") },
    { key: "events", header: word("labels.events"), width: "120px", align: "end" as const },
    { key: "amount", header: word("labels.amount"), width: "150px", align: "end" as const },
  ];
  return (
    <Table label={t("lines")} columns={columns} className="desk:[&_:is(th,td):first-child]:pl-6 desk:[&_:is(th,td):last-child]:pr-6">
      {lines.map(({ key, words, note, events, cents }) => (
        <tr key={key}>
          <Cell at="main" roomy>
            {words}
            <span className="text-xs text-meta block wrap-anywhere">{note}</span>
          </Cell>
          <Cell at="sub" className="desk:text-right">
            {format.number(events)}
            <span className="desk:hidden"> {t("eventsWord")}</span>
          </Cell>
          <Cell at="end" align="end" className="font-medium">
            {format.money(cents)}
          </Cell>
        </tr>
      ))}
      <tr className="text-base font-semibold">
        <Cell at="main">{t("total")}</Cell>
        <Cell at="desk" />
        <Cell at="end" align="end">
          {format.money(invoice.totalCents)}
        </Cell>
      </tr>
    </Table>
  );
}

function InvoiceProof({ invoice }: { invoice: Invoice }) {
  const t = useTranslations();
  const format = billingFormat(useLocale(), invoice.currency);
  return (
    <div className="grid gap-3 border-t border-line-1 px-6 pt-4 pb-6 max-desk:p-4">
      <h2>{t("labels.proof")}</h2>
      <p className="text-sm text-support text-pretty">{t("billing.invoice.proofBody", { until: format.date(invoice.eventsKeptUntil) })}</p>
      <Facts
        facts={[
          [t("billing.invoice.contentHash"), <Id key="content">{invoice.contentHash}</Id>],
          [t("billing.invoice.eventsDigest"), <Id key="events">{invoice.eventsDigest}</Id>],
        ]}
      />
      {invoice.credits.length > 0 && (
        <Facts
          facts={invoice.credits.map(({ proofId, day, proofHash }) => [
            t("billing.invoice.credit", { day: format.longDay(day) }),
            <Id key={proofId}>{proofHash}</Id>,
          ])}
        />
      )}
      {invoice.corrections.map(({ inInvoice, events, eventCount }) => (
        <p key={inInvoice} className="text-sm text-support">
          {t("billing.invoice.corrected", {
            count: format.number(events),
            total: format.number(eventCount),
            month: format.month(inInvoice),
          })}
        </p>
      ))}
    </div>
  );
}
