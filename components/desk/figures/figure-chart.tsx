"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { Cell, Table } from "#components/ui/table.tsx";
import { ChartFrame } from "#components/workbench/chart/chart-frame.tsx";
import { axisTicks } from "#components/workbench/chart/chart-scale.ts";
import { Lines } from "#components/workbench/chart/lines.tsx";
import type { DeskFigures } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { figureChart } from "../desk-look.ts";
import { type ChartFigure, figureValue, periods } from "./figure-list.ts";

/** One figure over 30 days, the 30 days before dashed. The tip follows the pointer and the arrow keys. */
export function FigureChart({ figures, chosen }: { figures: DeskFigures; chosen: ChartFigure }) {
  const t = useTranslations("desk.chart");
  const word = useTranslations();
  const { format } = useDesk();
  const { current, before } = periods(figures.days);
  const last = current.length - 1;
  const [isTable, setTable] = useState(false);
  const now = current.map(figureValue[chosen]);
  const then = before.map(figureValue[chosen]);
  const ticks = axisTicks(Math.max(...now, ...then));
  const amount = (count = 0) =>
    chosen === "value" ? format.money(Math.round(count * 100), figures.currency) : format.number(Math.round(count));
  const dayName = (index: number, options: Intl.DateTimeFormatOptions = { weekday: "short" }) =>
    format.plainDay(current[index]?.day ?? figures.today, { day: "numeric", month: "short", ...options });
  return (
    <>
      <figure className={figureChart}>
        <div className="mb-2.5 flex items-center gap-2">
          <figcaption className="flex-1 text-xs font-medium text-meta">{t(chosen)}</figcaption>
          <span className="flex flex-wrap gap-x-3.5 text-xs text-support *:flex *:items-center *:gap-1.5" aria-hidden="true">
            <span>
              <i className="h-0.5 w-3 rounded-[2px] bg-accent-mark" />
              {t("thisPeriod")}
            </span>
            <span>
              <i className="w-3 border-control border-t-[1.5px] border-dashed" />
              {t("before")}
            </span>
          </span>
          <button type="button" className="link text-xs" aria-expanded={isTable} onClick={() => setTable(!isTable)}>
            {word("workbench.asTable")}
          </button>
        </div>
        <ChartFrame
          isLine
          className="h-19"
          count={current.length}
          ticks={ticks}
          tickLabel={format.compact}
          pick={word("labels.day")}
          words={(index) => t("tip", { day: dayName(index), value: amount(now[index]), before: amount(then[index]) })}
          labels={[0, 7, 14, 21, last].map((index) => ({ index, text: index === last ? word("nav.today") : dayName(index, {}) }))}
        >
          {(active) => <Lines now={now} then={then} top={ticks.at(-1) ?? 1} active={active ?? last} />}
        </ChartFrame>
      </figure>
      {isTable && (
        <Table
          label={t(chosen)}
          columns={[
            { key: "day", header: word("labels.day") },
            { key: "now", header: t("thisPeriod"), align: "end" },
            { key: "then", header: t("before"), align: "end" },
          ]}
        >
          {current.map(({ day }, index) => (
            <tr key={day}>
              <Cell at="main">{dayName(index)}</Cell>
              <Cell at="end" align="end">
                {amount(now[index])}
              </Cell>
              <Cell at="desk" align="end" className="text-meta">
                {amount(then[index])}
              </Cell>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}
