"use client";

import { useLocale, useTranslations } from "next-intl";
import { AsTable } from "#components/ui/as-table.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { BarChart } from "#components/workbench/chart/bar-chart.tsx";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { JudgedDay } from "#lib/billing/billing-shapes.ts";

const marks = { usual: "fill-accent-mark", unusual: "fill-retry" };

/** The last five weeks; unusual days stand out by colour, in words and in the table. */
export function OriginDays({ days }: { days: JudgedDay[] }) {
  const t = useTranslations("billing.origins");
  const word = useTranslations();
  const format = billingFormat(useLocale());
  const usualOf = ({ usual }: JudgedDay) => (usual === null ? t("noUsual") : format.number(usual));
  const bars = days.map(({ day, units, isUnusual }) => ({
    key: day,
    parts: [{ mark: isUnusual ? marks.unusual : marks.usual, value: units }],
  }));
  const words = (index: number) => {
    const day = days[index];
    if (!day) return "";
    const values = { day: format.weekday(day.day), units: format.number(day.units), usual: usualOf(day) };
    return day.isUnusual ? t("unusualBar", values) : t("bar", values);
  };
  return (
    <>
      <BarChart
        bars={bars}
        pick={word("labels.day")}
        words={words}
        label={(index) => format.shortDay(days[index]?.day ?? "2000-01-01")}
        legend={[
          { mark: "bg-accent-mark", name: t("usualDay") },
          { mark: "bg-retry", name: t("unusualDay") },
        ]}
      />
      <AsTable summary={word("workbench.asTable")}>
        <Table
          label={t("days")}
          columns={[
            { key: "day", header: word("labels.day") },
            { key: "state", header: word("labels.state") },
            { key: "usual", header: t("usual"), align: "end" },
            { key: "units", header: t("units"), align: "end" },
          ]}
        >
          {days.toReversed().map((day) => (
            <tr key={day.day}>
              <Cell at="main">{format.weekday(day.day)}</Cell>
              <Cell at="sub">{t(day.isUnusual ? "unusualDay" : "usualDay")}</Cell>
              <Cell at="desk" align="end" className="text-meta">
                {usualOf(day)}
              </Cell>
              <Cell at="end" align="end">
                {format.number(day.units)}
              </Cell>
            </tr>
          ))}
        </Table>
      </AsTable>
    </>
  );
}
