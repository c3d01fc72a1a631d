"use client";

import { useTranslations } from "next-intl";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import type { ExportPreview } from "#components/dashboard/oci-control/live/control-api.ts";
import { shortOrder } from "#components/dashboard/oci-control/table/short-order.ts";
import { useCause } from "#components/delivery/use-cause.ts";
import { Alert } from "#components/ui/alert.tsx";
import { checkItem } from "./export-checks.ts";

/** How many, how much, and what would be left behind and why. */
export function ExportTotals({ preview }: { preview: ExportPreview }) {
  const t = useTranslations("oci.export");
  const format = useControlFormat();
  const { site } = useControl();
  const causeOf = useCause(site.ociSyncMethod);
  const { items, counts, warnings } = preview;
  const sums: Record<string, number> = {};
  for (const { conversionCurrency, conversionValue } of items) {
    sums[conversionCurrency] = (sums[conversionCurrency] ?? 0) + Math.round(conversionValue * 100);
  }
  const failing = items.filter((item) => checkItem(item).length > 0).length;
  const tiles = [
    { key: "would", figure: format.number(items.length), sub: t("wouldSub") },
    { key: "worth", figure: format.sums(sums), sub: t("worthSub") },
    { key: "left", figure: format.number(counts.skipped), sub: t("leftSub") },
    { key: "checked", figure: t("checkedOf", { ok: items.length - failing, all: items.length }), sub: t("checkedSub") },
  ] as const;
  return (
    <>
      <dl className="tiles four">
        {tiles.map(({ key, figure, sub }) => (
          <div key={key} className="tile">
            <dt className="lab t2">{t(key)}</dt>
            <dd className="fig">{figure}</dd>
            <dd className="sub">{sub}</dd>
          </div>
        ))}
      </dl>
      {warnings.length > 0 && (
        <Alert tone="retry" title={t("warnings", { count: warnings.length })}>
          <ul className="mt-1 grid gap-1">
            {warnings.slice(0, 20).map((warning) => {
              const [id = "", code] = warning.split(": ");
              const words = code ? causeOf(code).what : t.has(`warningWords.${id}` as never) ? t(`warningWords.${id}` as never) : id;
              return (
                <li key={warning}>
                  {code && <span className="id">{`${shortOrder(id)}: `}</span>}
                  {words}
                </li>
              );
            })}
          </ul>
        </Alert>
      )}
    </>
  );
}
