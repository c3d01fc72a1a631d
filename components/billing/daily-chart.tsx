"use client";

import { useLocale, useTranslations } from "next-intl";
import { type PointerEvent, useState } from "react";
import { Cell, Table } from "#components/ui/table.tsx";
import { axisTicks, labelledDays } from "#components/workbench/chart/chart-scale.ts";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { ForecastDay } from "#lib/billing/forecast.ts";

interface DailyChartProps {
  days: ForecastDay[];
  today: string;
  currency: string;
}

/** A bar per UTC day: counted is solid, expected is pale. The tip follows the pointer and the arrow keys. */
export function DailyChart({ days, today, currency }: DailyChartProps) {
  const t = useTranslations("billing.chart");
  const format = billingFormat(useLocale(), currency);
  const todayIndex = Math.max(
    0,
    days.findIndex(({ day }) => day === today),
  ); // the month in view is always the present one
  const [active, setActive] = useState(todayIndex);
  const [shown, setShown] = useState(false);
  const ticks = axisTicks(Math.max(...days.map(({ counted, expected }) => Math.max(counted, expected ?? 0))));
  const top = ticks.at(-1) ?? 1;
  const words = ({ day, counted, expected }: ForecastDay) => {
    const values = { day: format.weekday(day), counted: format.number(counted), expected: format.number(expected ?? 0) };
    return t(day < today ? "past" : day === today ? "present" : "future", values);
  };
  const follow = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    setActive(Math.min(days.length - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * days.length))));
    setShown(true);
  };
  const chosen = days[active];
  return (
    <>
      <figure className="chart-box">
        <div className="chart">
          <div className="y" aria-hidden="true">
            {ticks.map((tick) => (
              <span key={tick} style={{ top: `${100 - (100 * tick) / top}%` }}>
                {format.compact(tick)}
              </span>
            ))}
          </div>
          <div className="plot" onPointerMove={follow} onPointerLeave={() => setShown(false)}>
            <Bars days={days} top={top} ticks={ticks} active={shown ? active : null} />
            <input
              type="range"
              min={1}
              max={days.length}
              value={active + 1}
              aria-label={t("pick")}
              aria-valuetext={chosen && words(chosen)}
              onChange={(event) => setActive(Number(event.target.value) - 1)}
              onFocus={() => setShown(true)}
              onBlur={() => setShown(false)}
            />
            {shown && chosen && (
              <div className="tip" style={tipPlace(active, days.length)}>
                {words(chosen)}
              </div>
            )}
          </div>
          <div className="x" aria-hidden="true">
            {labelledDays(days.length, todayIndex).map((index) => (
              <span key={index} style={{ left: `${(100 * (index + 0.5)) / days.length}%` }}>
                {index === todayIndex ? t("today") : index === 0 ? format.shortDay(days[0]?.day ?? today) : index + 1}
              </span>
            ))}
          </div>
        </div>
      </figure>
      <details className="as-table">
        <summary>{t("asTable")}</summary>
        <Table
          label={t("title")}
          columns={[
            { key: "day", header: t("day") },
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
      </details>
    </>
  );
}

/** Above the bar, and inside the chart at both ends. */
function tipPlace(index: number, count: number) {
  const at = (100 * (index + 0.5)) / count;
  return index < count / 2 ? { left: `${Math.max(0, at - 4)}%` } : { right: `${Math.max(0, 96 - at)}%` };
}

function Bars({ days, top, ticks, active }: { days: ForecastDay[]; top: number; ticks: number[]; active: number | null }) {
  const slot = 1000 / days.length;
  const bar = (index: number, value: number) => ({
    x: (index + 0.13) * slot,
    width: 0.74 * slot,
    y: 100 - (100 * value) / top,
    height: (100 * value) / top,
  });
  return (
    <svg viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
      <g className="grid">
        {ticks.map((tick) => (
          <line key={tick} x1="0" x2="1000" y1={100 - (100 * tick) / top} y2={100 - (100 * tick) / top} />
        ))}
      </g>
      {active !== null && <rect className="m-on" x={active * slot} y="0" width={slot} height="100" />}
      {days.map(({ day, counted, expected }, index) => (
        <g key={day}>
          {expected !== null && expected > counted && <rect className="m-fc" {...bar(index, expected)} />}
          {counted > 0 && <rect className="m-accent" {...bar(index, counted)} />}
        </g>
      ))}
    </svg>
  );
}
