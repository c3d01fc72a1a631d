import { CircleCheck, CircleDashed, CircleSlash } from "lucide-react";
import Link from "next/link";
import { useLocale, useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { WhyButton } from "#components/delivery/why-button.tsx";
import { leadPath, proofPath, rowPath } from "#components/shell/nav-items.ts";
import { Tag } from "#components/ui/badge.tsx";
import { downFirst, sortedColumn } from "#components/ui/sort-link.tsx";
import { Cell } from "#components/ui/table.tsx";
import { LiveTable } from "#components/workbench/live/live-table.tsx";
import { leadChannels } from "#lib/channels.ts";
import { saleStates } from "#lib/contracts/states.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";
import type { Sale, SalesFilter } from "#lib/seal/sales-list.ts";
import type { SiteId } from "#lib/site.ts";
import { SaleActions } from "./sale-actions.tsx";
import { SaleDelivery } from "./sale-delivery.tsx";

const statusIcons = { DRAFT: CircleDashed, CONFIRMED: CircleCheck, CANCELED: CircleSlash };

interface SalesTableProps {
  siteId: SiteId;
  sales: Sale[];
  next: string | null;
  /** The filter and the page. */
  of: string;
  timeZone: string;
  /** Viewers look only. */
  editable: boolean;
  /** Where the list is, with its filters, for the links that sort it. */
  sort: { path: string; filter: SalesFilter };
}

export function SalesTable({ siteId, sales, next, of, timeZone, editable, sort }: SalesTableProps) {
  const t = useTranslations();
  const locale = useLocale();
  const moneyOf = ({ amountCents, currency }: Sale) => siteFormat({ locale, timeZone, currency }).money(amountCents);
  const { dateTime } = siteFormat({ locale, timeZone });
  const columns = [
    { key: "when", ...sortedColumn({ label: t("labels.when"), ...sort, orders: downFirst(undefined, "oldest") }), width: "148px" },
    {
      key: "amount",
      ...sortedColumn({ label: t("labels.amount"), ...sort, orders: downFirst("largest", "smallest") }),
      width: "110px",
      align: "end" as const,
    },
    { key: "what", header: t("labels.what") },
    { key: "from", header: t("labels.from"), width: "180px", priority: 3 as const },
    { key: "status", header: t("labels.state"), width: "112px" },
    { key: "delivery", header: t("who.google"), width: "160px", priority: 2 as const },
    ...(editable ? [{ key: "actions", header: t("labels.actions"), hidden: true, width: "230px" }] : []),
  ];
  const sourceOf = ({ externalRef, channel, matchedBy, callId }: Sale) => {
    const known = leadChannels.find((name) => name === channel);
    if (externalRef === null) return known ? t(`channels.${known}`) : t("sales.sources.desk");
    return callId && matchedBy ? t(`sales.matched.${matchedBy}`) : t("blocks.NO_MATCH");
  };
  const leadOf = (sale: Sale) =>
    sale.callId ? (
      <Link
        className="link max-desk:inline-flex max-desk:min-h-6 max-desk:items-center"
        href={leadPath(siteId, sale.callId)}
        prefetch={false}
      >
        {sourceOf(sale)}
      </Link>
    ) : (
      sourceOf(sale)
    );
  const rowOf = (sale: Sale) => (
    <tr className={sale.status === "CANCELED" ? "text-meta" : undefined}>
      <Cell at="sub">
        <SaleLink href={sale.proofId && proofPath(sale.proofId)} label={t("receipt.title")}>
          <time dateTime={sale.occurredAt}>{dateTime(sale.occurredAt)}</time>
        </SaleLink>
        {sale.callId && <span className="block desk:hidden">{leadOf(sale)}</span>}
      </Cell>
      <Cell at="main" align="end" className="font-semibold">
        {moneyOf(sale)}
        {sale.valueSource === "PREDICTED" && <span className="text-meta text-xs"> {t("sales.predicted")}</span>}
        <span className="desk:hidden font-medium text-support" data-untranslated>
          {" "}
          {sale.note ?? sale.externalRef}
        </span>
      </Cell>
      <Cell at="desk" title={sale.note ?? undefined} data-untranslated>
        {sale.note}
        {sale.externalRef && <span className="id text-meta"> {sale.externalRef}</span>}
      </Cell>
      <Cell at="desk" priority={3} className="text-support">
        {leadOf(sale)}
      </Cell>
      <Cell at="end">
        <Tag icon={statusIcons[sale.status]}>{t(`states.${saleStates[sale.status]}`)}</Tag>
      </Cell>
      <Cell at="meta" priority={2}>
        <span className="flex min-w-0 items-center gap-2">
          <SaleLink href={sale.rowId && rowPath(siteId, sale.rowId)} label={t("actions.row")}>
            <SaleDelivery delivery={sale.delivery} status={sale.status} />
          </SaleLink>
          <WhyButton siteId={siteId} saleId={sale.id} timeZone={timeZone} isCounted={sale.delivery.verdict === "CONFIRMED"} look="icon" />
        </span>
      </Cell>
      {editable && (
        <Cell at="foot">
          <SaleActions siteId={siteId} sale={sale} />
        </Cell>
      )}
    </tr>
  );
  return (
    <LiveTable
      label={t("nav.sales")}
      columns={columns}
      of={of}
      next={next}
      rows={sales.map((sale) => ({ id: sale.id, row: rowOf(sale) }))}
    />
  );
}

/** A part of the row that leads somewhere, where there is somewhere to go. */
function SaleLink({ href, label, children }: { href: string | null; label: string; children: ReactNode }) {
  if (!href) return children;
  return (
    <Link
      className="underline decoration-line-2 underline-offset-3 max-desk:inline-flex max-desk:min-h-6 max-desk:items-center"
      href={href}
      prefetch={false}
      title={label}
    >
      {children}
    </Link>
  );
}
