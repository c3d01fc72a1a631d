"use client";

import { useTranslations } from "next-intl";
import { type PointerEvent, useState } from "react";
import { Cell, Table } from "#components/ui/table.tsx";
import { axisTicks } from "#components/workbench/chart/chart-scale.ts";
import type { DeskFigures } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { type ChartFigure, figureValue, periods } from "./figure-list.ts";
import { Lines } from "./lines.tsx";

/** One figure over 30 days, the 30 days before dashed. The tip follows the pointer and the arrow keys. */
export function FigureChart({ figures, chosen }: { figures: DeskFigures; chosen: ChartFigure }) {
  const t = useTranslations("desk.chart");
  const { format } = useDesk();
  const { current, before } = periods(figures.days);
  const last = current.length - 1;
  const [active, setActive] = useState(last);
  const [shown, setShown] = useState(false);
  const [isTable, setTable] = useState(false);
  const value = figureValue[chosen];
  const now = current.map(value);
  const then = before.map(value);
  const ticks = axisTicks(Math.max(...now, ...then));
  const top = ticks.at(-1) ?? 1;
  const amount = (count: number) =>
    chosen === "value" ? format.money(Math.round(count * 100), figures.currency) : format.number(Math.round(count));
  const dayName = (index: number) =>
    format.plainDay(current[index]?.day ?? figures.today, { weekday: "short", day: "numeric", month: "short" });
  const words = (index: number) => t("tip", { day: dayName(index), value: amount(now[index] ?? 0), before: amount(then[index] ?? 0) });
  const follow = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    setActive(Math.min(last, Math.max(0, Math.round(((event.clientX - left) / width) * last))));
    setShown(true);
  };
  return (
    <>
      <figure className="kpi-chart">
        <div className="row mb-[10px]">
          <figcaption className="label grow">{t(chosen)}</figcaption>
          <span className="legend" aria-hidden="true">
            <span>
              <i className="line" />
              {t("thisPeriod")}
            </span>
            <span>
              <i className="dash" />
              {t("before")}
            </span>
          </span>
          <button type="button" className="link xs desk-only" aria-expanded={isTable} onClick={() => setTable(!isTable)}>
            {t("asTable")}
          </button>
        </div>
        <div className="chart">
          <div className="y" aria-hidden="true">
            {ticks.map((tick) => (
              <span key={tick} style={{ top: `${100 - (100 * tick) / top}%` }}>
                {format.compact(tick)}
              </span>
            ))}
          </div>
          <div className="plot" onPointerMove={follow} onPointerLeave={() => setShown(false)}>
            <Lines now={now} then={then} top={top} ticks={ticks} active={shown ? active : last} />
            <input
              type="range"
              min={1}
              max={last + 1}
              value={active + 1}
              aria-label={t("pick")}
              aria-valuetext={words(active)}
              onChange={(event) => setActive(Number(event.target.value) - 1)}
              onFocus={() => setShown(true)}
              onBlur={() => setShown(false)}
            />
            {shown && (
              <div
                className="tip"
                style={active < last / 2 ? { left: `${(100 * active) / last}%` } : { right: `${100 - (100 * active) / last}%` }}
              >
                {words(active)}
              </div>
            )}
          </div>
          <div className="x" aria-hidden="true">
            {[0, 7, 14, 21, last].map((index) => (
              <span key={index} style={{ left: `${(100 * index) / last}%` }}>
                {index === last ? t("today") : format.plainDay(current[index]?.day ?? figures.today, { day: "numeric", month: "short" })}
              </span>
            ))}
          </div>
        </div>
      </figure>
      {isTable && (
        <Table
          label={t(chosen)}
          columns={[
            { key: "day", header: t("day") },
            { key: "now", header: t("thisPeriod"), align: "end" },
            { key: "then", header: t("beforeColumn"), align: "end" },
          ]}
        >
          {current.map(({ day }, index) => (
            <tr key={day}>
              <Cell at="main">{dayName(index)}</Cell>
              <Cell at="end" align="end">
                {amount(now[index] ?? 0)}
              </Cell>
              <Cell at="desk" align="end" className="t3">
                {amount(then[index] ?? 0)}
              </Cell>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}
