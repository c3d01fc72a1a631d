"use client";

import { useLocale, useTranslations } from "next-intl";
import { AsTable } from "#components/ui/as-table.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { Bars } from "#components/workbench/chart/bars.tsx";
import { ChartFrame } from "#components/workbench/chart/chart-frame.tsx";
import { axisTicks, labelledDays } from "#components/workbench/chart/chart-scale.ts";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { ForecastDay } from "#lib/billing/forecast.ts";

interface DailyChartProps {
  days: ForecastDay[];
  today: string;
  currency: string;
}

/** A bar per UTC day: counted is solid, expected is pale. */
export function DailyChart({ days, today, currency }: DailyChartProps) {
  const t = useTranslations("billing.chart");
  const word = useTranslations();
  const format = billingFormat(useLocale(), currency);
  const todayIndex = Math.max(
    0,
    days.findIndex(({ day }) => day === today),
  ); // the month in view is always the present one
  const ticks = axisTicks(Math.max(...days.map(({ counted, expected }) => Math.max(counted, expected ?? 0))));
  const words = ({ day, counted, expected }: ForecastDay) => {
    const values = { day: format.weekday(day), counted: format.number(counted), expected: format.number(expected ?? 0) };
    return t(day < today ? "past" : day === today ? "present" : "future", values);
  };
  const bars = days.map(({ day, counted, expected }) => ({
    key: day,
    parts: [
      { mark: "fill-accent-mark", value: counted },
      { mark: "fill-accent-line", value: Math.max(0, (expected ?? 0) - counted) },
    ],
  }));
  const labels = labelledDays(days.length, todayIndex).map((index) => ({
    index,
    text: index === todayIndex ? word("nav.today") : index === 0 ? format.shortDay(days[0]?.day ?? today) : String(index + 1),
  }));
  return (
    <>
      <figure className="pt-4 pr-5 pb-3 pl-3">
        <ChartFrame
          count={days.length}
          start={todayIndex}
          ticks={ticks}
          tickLabel={format.compact}
          pick={t("pick")}
          words={(index) => (days[index] ? words(days[index]) : "")}
          labels={labels}
        >
          {(active) => <Bars bars={bars} top={ticks.at(-1) ?? 1} active={active} />}
        </ChartFrame>
      </figure>
      <AsTable summary={word("workbench.asTable")}>
        <Table
          label={t("title")}
          columns={[
            { key: "day", header: word("labels.day") },
            { key: "counted", header: t("counted"), align: "end" },
            { key: "expected", header: t("forecast"), align: "end" },
          ]}
        >
          {days.map(({ day, counted, expected }) => (
            <tr key={day}>
              <Cell at="main">{format.weekday(day)}</Cell>
              <Cell at={day > today ? "desk" : "end"} align="end">
                {day > today ? "" : format.number(counted)}
              </Cell>
              <Cell at={day > today ? "end" : "desk"} align="end" className="text-meta">
                {expected === null ? "" : format.number(expected)}
              </Cell>
            </tr>
          ))}
        </Table>
      </AsTable>
    </>
  );
}
