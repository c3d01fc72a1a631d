"use client";

import { CircleCheck, RotateCw } from "lucide-react";
import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { Alert } from "#components/ui/alert.tsx";
import { Badge } from "#components/ui/badge.tsx";
import { Button } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { FactTiles } from "#components/workbench/tile.tsx";
import type { ExportPreview as Preview } from "#lib/oci/handout/export.ts";
import { sumByCurrency } from "#lib/oci/queue/row-state.ts";
import { shortOrder } from "#lib/oci/short-order.ts";
import { checkItem } from "./export-checks.ts";

interface ExportPreviewProps {
  /** Null where the site sends by API. */
  preview: Preview | null;
  onAgain: () => void;
}

/** What the next export would hand out if it ran now. Looking changes nothing. */
export function ExportPreview({ preview, onAgain }: ExportPreviewProps) {
  const t = useTranslations("oci.export");
  const word = useTranslations();
  const { format } = useControl();
  if (!preview)
    return (
      <Alert tone="completed" title={t("api")}>
        {t("apiBody")}
      </Alert>
    );
  const { items } = preview;
  const again = (
    <Button size="sm" onClick={onAgain}>
      <RotateCw className="size-3.5" />
      {t("again")}
    </Button>
  );
  return (
    <>
      <Alert tone="completed" title={t("dry")}>
        {t("dryBody")}
      </Alert>
      <Totals preview={preview} />
      <LeftBehind warnings={preview.warnings} />
      <Card title={word("oci.tabs.export")} note={word("labels.conversions", { count: items.length })} end={again}>
        {items.length === 0 ? (
          <EmptyState icon={CircleCheck} title={t("empty")}>
            {preview.pausedUntil ? word("pause.paused", { time: format.moment(preview.pausedUntil) }) : t("emptyBody")}
          </EmptyState>
        ) : (
          <Items items={items} />
        )}
      </Card>
    </>
  );
}

/** How many and how much, what would be left behind, and how many pass our own checks. */
function Totals({ preview: { items, counts } }: { preview: Preview }) {
  const t = useTranslations("oci.export");
  const { format } = useControl();
  // An item's id says what it is: a sale, a stage before it, or a page view, which has no value.
  const of = (prefix: string) => items.filter(({ id }) => id.startsWith(prefix));
  const [sales, stages] = [of("seal_"), of("signal_")];
  const worth = (some: Preview["items"]) =>
    format.sums(
      sumByCurrency(some.map((item) => ({ currency: item.conversionCurrency, valueCents: Math.round(item.conversionValue * 100) }))),
    );
  const kinds = { sales: sales.length, stages: stages.length, views: items.length - sales.length - stages.length };
  const passing = items.filter((item) => checkItem(item).length === 0).length;
  const facts = [
    ["would", format.number(items.length), t("wouldSub", kinds)],
    ["worth", worth(sales), t("worthSub", { stages: stages.length, money: worth(stages) })],
    ["left", format.number(counts.skipped), t("leftSub")],
    ["checked", t("checkedOf", { ok: passing, all: items.length }), t("checkedSub")],
  ] as const;
  return <FactTiles facts={facts.map(([key, figure, note]) => ({ key, name: t(key), figure, note }))} />;
}

function LeftBehind({ warnings }: Pick<Preview, "warnings">) {
  const t = useTranslations("oci.export");
  const { causeOf } = useControl();
  if (warnings.length === 0) return null;
  return (
    <Alert tone="retry" title={t("warnings", { count: warnings.length })}>
      <ul className="mt-1 grid gap-1">
        {warnings.slice(0, 20).map((warning) => {
          const [id = "", code] = warning.split(": ");
          const words = code ? causeOf(code).what : t.has(`warningWords.${id}` as never) ? t(`warningWords.${id}` as never) : id;
          return <li key={warning}>{words}</li>;
        })}
      </ul>
    </Alert>
  );
}

const mask = (id: string) => (id.length > 12 ? `${id.slice(0, 6)}…${id.slice(-4)}` : id);

/** Each conversion as the script would upload it. */
function Items({ items }: Pick<Preview, "items">) {
  const t = useTranslations("oci.export");
  const word = useTranslations();
  const { format } = useControl();
  const columns = [
    { key: "check", header: t("check"), width: "132px" },
    { key: "value", header: word("labels.value"), width: "96px", align: "end" as const },
    { key: "name", header: t("name") },
    { key: "time", header: t("time"), width: "230px" },
    { key: "order", header: word("labels.order"), width: "150px", priority: 2 as const },
    { key: "click", header: t("click"), width: "170px", priority: 3 as const },
  ];
  return (
    <Table label={word("oci.tabs.export")} columns={columns}>
      {items.map((item) => {
        const [broken] = checkItem(item);
        const kind = item.gclid ? "gclid" : item.gbraid ? "gbraid" : "wbraid";
        return (
          <tr key={item.id}>
            <Cell at="main">
              <Badge state={broken ? "FAILED" : "COMPLETED"}>{broken ? t(`checks.${broken}`) : t("ok")}</Badge>
            </Cell>
            <Cell at="end" align="end" className="font-medium">
              {format.money(Math.round(item.conversionValue * 100), item.conversionCurrency)}
            </Cell>
            <Cell at="wide">{item.conversionName}</Cell>
            <Cell at="foot" className="id text-support">
              {item.conversionTime}
            </Cell>
            <Cell at="desk" priority={2} className="id text-support" title={item.orderId}>
              {shortOrder(item.orderId)}
            </Cell>
            <Cell at="desk" priority={3} className="id text-meta">{`${kind} ${mask(item[kind])}`}</Cell>
          </tr>
        );
      })}
    </Table>
  );
}
