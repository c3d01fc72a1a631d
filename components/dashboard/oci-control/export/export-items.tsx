"use client";

import { useTranslations } from "next-intl";
import { useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import type { ExportPreview } from "#components/dashboard/oci-control/live/control-api.ts";
import { shortOrder } from "#components/dashboard/oci-control/table/short-order.ts";
import { Badge } from "#components/ui/badge.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { checkItem } from "./export-checks.ts";

const mask = (id: string) => (id.length > 12 ? `${id.slice(0, 6)}…${id.slice(-4)}` : id);

/** Each conversion as the script would upload it. */
export function ExportItems({ items }: { items: ExportPreview["items"] }) {
  const t = useTranslations("oci.export");
  const format = useControlFormat();
  const columns = [
    { key: "check", header: t("check"), width: "132px" },
    { key: "value", header: t("value"), width: "96px", align: "end" as const },
    { key: "name", header: t("name") },
    { key: "time", header: t("time"), width: "230px" },
    { key: "order", header: t("order"), width: "150px", priority: 2 as const },
    { key: "click", header: t("click"), width: "170px", priority: 3 as const },
  ];
  return (
    <Table label={t("title")} columns={columns}>
      {items.map((item) => {
        const broken = checkItem(item);
        const kind = item.gclid ? "gclid" : item.gbraid ? "gbraid" : "wbraid";
        return (
          <tr key={item.id}>
            <Cell at="main">
              {broken.length === 0 ? (
                <Badge state="COMPLETED">{t("ok")}</Badge>
              ) : (
                <Badge state="FAILED">{t(`checks.${broken[0] ?? "click"}`)}</Badge>
              )}
            </Cell>
            <Cell at="end" align="end" className="med">
              {format.money(Math.round(item.conversionValue * 100), item.conversionCurrency)}
            </Cell>
            <Cell at="wide">{item.conversionName}</Cell>
            <Cell at="foot" className="id t2">
              {item.conversionTime}
            </Cell>
            <Cell at="desk" priority={2} className="id t2" title={item.orderId}>
              {shortOrder(item.orderId)}
            </Cell>
            <Cell at="desk" priority={3} className="id t3">{`${kind} ${mask(item[kind])}`}</Cell>
          </tr>
        );
      })}
    </Table>
  );
}
