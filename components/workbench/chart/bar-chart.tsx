"use client";

import { useLocale } from "next-intl";
import { numberFormat } from "#lib/i18n/cached-format.ts";
import { intlTag } from "#lib/i18n/site-format.ts";
import { type Bar, Bars } from "./bars.tsx";
import { ChartFrame, Legend } from "./chart-frame.tsx";
import { labelledBars, lowTicks } from "./chart-scale.ts";

interface BarChartProps {
  bars: readonly Bar[];
  pick: string;
  words: (index: number) => string;
  /** What stands below a bar. */
  label: (index: number) => string;
  legend: readonly { mark: string; name: string }[];
}

/** Stacked bars over time, with their legend. */
export function BarChart({ bars, pick, words, label, legend }: BarChartProps) {
  const tag = intlTag(useLocale());
  const ticks = lowTicks(bars.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0)));
  return (
    <figure className="flex flex-1 flex-col pt-4 pr-5 pb-3 pl-3">
      <ChartFrame
        className="h-full min-h-24"
        count={bars.length}
        ticks={ticks}
        tickLabel={(tick) => numberFormat(tag).format(tick)}
        pick={pick}
        words={words}
        labels={labelledBars(bars.length).map((index) => ({ index, text: label(index) }))}
      >
        {(active) => <Bars bars={bars} top={ticks.at(-1) ?? 1} active={active} />}
      </ChartFrame>
      <Legend items={legend} />
    </figure>
  );
}
