import type { DayFigures } from "#lib/leads/desk-shapes.ts";

/** The figures that the chart can draw; the others lead to OCI Control. */
const chartFigures = ["leads", "sealed", "value", "minutes"] as const;
export type ChartFigure = (typeof chartFigures)[number];
export type FigureKey = ChartFigure | "delivered" | "waiting" | "failed";

export const figureValue: Record<FigureKey, (day: DayFigures) => number> = {
  leads: (day) => day.leads,
  sealed: (day) => day.sealed,
  value: (day) => day.valueCents / 100,
  minutes: (day) => day.medianMinutes ?? 0,
  delivered: (day) => day.delivered,
  waiting: (day) => day.queued,
  failed: (day) => day.failed,
};

export function parseFigure(text: unknown): ChartFigure {
  return chartFigures.find((figure) => figure === text) ?? "leads";
}

/** How many days the chart can show. */
export const chartSpans = [7, 30, 90] as const;
export type ChartSpan = (typeof chartSpans)[number];

export function parseSpan(text: unknown): ChartSpan {
  return chartSpans.find((span) => String(span) === text) ?? 30;
}

/** The days that end today, and as many before them. */
export function periods(days: DayFigures[]): { current: DayFigures[]; before: DayFigures[] } {
  return { current: days.slice(days.length / 2), before: days.slice(0, days.length / 2) };
}
