import { useLocale, useTranslations } from "next-intl";
import { brandName } from "#components/ui/brand.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { Invoice } from "#lib/billing/billing-shapes.ts";

/** The invoice as it goes on paper: what was counted, what it costs, and how to prove it. */
export function InvoiceSheet({ invoice, siteName }: { invoice: Invoice; siteName: string }) {
  const t = useTranslations("billing.invoice");
  const format = billingFormat(useLocale(), invoice.currency);
  return (
    <article className="card sheet-paper">
      <div className="sheet-head">
        <div>
          <p className="h2">{brandName}</p>
          <p className="t2 sm">{t("forSite", { site: siteName })}</p>
        </div>
        <dl className="facts">
          <dt>{t("month")}</dt>
          <dd>{t("monthUtc", { month: format.month(invoice.yearMonth) })}</dd>
          <dt>{t("frozen")}</dt>
          <dd>{format.date(invoice.frozenAt)}</dd>
          <dt>{t("due")}</dt>
          <dd>{format.date(invoice.dueAt)}</dd>
          <dt>{t("siteId")}</dt>
          <dd className="id">{invoice.site}</dd>
        </dl>
      </div>
      <InvoiceLines invoice={invoice} />
      <InvoiceProof invoice={invoice} />
    </article>
  );
}

function InvoiceLines({ invoice }: { invoice: Invoice }) {
  const t = useTranslations("billing.invoice");
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
  ];
  const columns = [
    { key: "line", header: t("line") },
    { key: "events", header: t("events"), width: "120px", align: "end" as const },
    { key: "amount", header: t("amount"), width: "150px", align: "end" as const },
  ];
  return (
    <Table label={t("lines")} columns={columns}>
      {lines.map(({ key, words, note, events, cents }) => (
        <tr key={key}>
          <Cell at="main" roomy>
            {words}
            <span className="xs t3 block">{note}</span>
          </Cell>
          <Cell at="sub" className="desk:text-right">
            {format.number(events)}
            <span className="phone-only"> {t("eventsWord")}</span>
          </Cell>
          <Cell at="end" align="end" className="med">
            {format.money(cents)}
          </Cell>
        </tr>
      ))}
      <tr className="total">
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
  const t = useTranslations("billing.invoice");
  const format = billingFormat(useLocale(), invoice.currency);
  return (
    <div className="sheet-proof stack">
      <h2>{t("proof")}</h2>
      <p className="sm t2 text-pretty">{t("proofBody", { until: format.date(invoice.eventsKeptUntil) })}</p>
      <dl className="facts">
        <dt>{t("contentHash")}</dt>
        <dd className="id">{invoice.contentHash}</dd>
        <dt>{t("eventsDigest")}</dt>
        <dd className="id">{invoice.eventsDigest}</dd>
      </dl>
      {invoice.corrections.map(({ inInvoice, events, eventCount }) => (
        <p key={inInvoice} className="sm t2">
          {t("corrected", { count: format.number(events), total: format.number(eventCount), month: format.month(inInvoice) })}
        </p>
      ))}
    </div>
  );
}
