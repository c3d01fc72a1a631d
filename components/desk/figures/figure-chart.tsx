"use client";

import Link from "next/link";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { latePart } from "#components/ui/late-part.tsx";
import { Segments } from "#components/ui/segmented.tsx";
import { ChartFrame } from "#components/workbench/chart/chart-frame.tsx";
import { axisTicks } from "#components/workbench/chart/chart-scale.ts";
import { Lines } from "#components/workbench/chart/lines.tsx";
import type { DeskFigures } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { figureChart } from "../desk-look.ts";
import { type ChartFigure, chartSpans, figureValue, periods } from "./figure-list.ts";

const InFigures = latePart(() => import("./figure-table.tsx").then(({ FigureTable }) => FigureTable));

interface FigureChartProps {
  figures: DeskFigures;
  chosen: ChartFigure;
  linkTo: (days: string) => string;
}

const sumOf = (counts: number[]) => counts.reduce((sum, count) => sum + count, 0);

/** One figure over 7, 30 or 90 days, as many days before dashed. The tip follows the pointer and the arrow keys. */
export function FigureChart({ figures, chosen, linkTo }: FigureChartProps) {
  const t = useTranslations("desk.chart");
  const word = useTranslations();
  const { format } = useDesk();
  const { current, before } = periods(figures.days);
  const span = current.length;
  const last = span - 1;
  const marks = [0, 1, 2, 3].map((part) => Math.round((part * last) / 4));
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
          <figcaption className="flex-1 text-xs font-medium text-meta">
            {t(chosen, { days: span })}
            {chosen !== "minutes" && (
              <span className="ml-1.5 text-support">{t("total", { now: amount(sumOf(now)), before: amount(sumOf(then)) })}</span>
            )}
          </figcaption>
          <Segments as="nav" aria-label={word("labels.period")}>
            {chartSpans.map((days) => (
              <Link
                key={days}
                href={linkTo(String(days))}
                scroll={false}
                prefetch={false}
                aria-current={days === span ? "true" : undefined}
              >
                {word("oci.days.last", { days })}
              </Link>
            ))}
          </Segments>
          <span className="flex flex-wrap gap-x-3.5 text-xs text-support *:flex *:items-center *:gap-1.5" aria-hidden="true">
            <span>
              <i className="h-0.5 w-3 rounded-[2px] bg-accent-mark" />
              {t("thisPeriod")}
            </span>
            <span>
              <i className="w-3 border-control border-t-[1.5px] border-dashed" />
              {t("before", { days: span })}
            </span>
          </span>
          <button
            type="button"
            className="link text-xs"
            aria-expanded={isTable}
            onPointerEnter={InFigures.load}
            onFocus={InFigures.load}
            onClick={() => setTable(!isTable)}
          >
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
          words={(index) => t("tip", { days: span, day: dayName(index), value: amount(now[index]), before: amount(then[index]) })}
          labels={[...marks, last].map((index) => ({ index, text: index === last ? word("nav.today") : dayName(index, {}) }))}
        >
          {(active) => <Lines now={now} then={then} top={ticks.at(-1) ?? 1} active={active ?? last} />}
        </ChartFrame>
      </figure>
      {isTable && (
        <InFigures.Part
          isWanted
          label={t(chosen, { days: span })}
          span={span}
          days={current.map(({ day }, index) => ({ key: day, day: dayName(index), now: amount(now[index]), before: amount(then[index]) }))}
        />
      )}
    </>
  );
}
