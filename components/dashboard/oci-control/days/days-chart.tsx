"use client";

import { useTranslations } from "next-intl";
import { ticksFor } from "#components/dashboard/oci-control/charts/activity-buckets.ts";
import { BarChart } from "#components/dashboard/oci-control/charts/bar-chart.tsx";
import { useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { type DaySum, sumByDay } from "#lib/oci/queue/day-span.ts";
import type { DeliveryDays } from "#lib/oci/queue/days.ts";

/** What Google says of a day's conversions, from below: counted, no verdict given, verdict expected, rejected. Together they are what was sent. */
const series = [
  ["counted", "m-completed", ({ confirmed, duplicate }: DaySum) => confirmed + duplicate],
  ["noVerdict", "m-queued", ({ unknown, noVerdict }: DaySum) => unknown + noVerdict],
  ["waiting", "m-processing", ({ waiting }: DaySum) => waiting],
  ["rejected", "m-failed", ({ rejected }: DaySum) => rejected],
] as const;

export function DaysChart({ report }: { report: DeliveryDays }) {
  const t = useTranslations("oci.days");
  const format = useControlFormat();
  const days = sumByDay(report);
  const words = (index: number) => {
    const sum = days[index];
    if (!sum) return "";
    const [counted = 0, none = 0, waiting = 0, rejected = 0] = series.map(([, , value]) => value(sum));
    return t("tip", { day: format.day(sum.day), sent: sum.sent, counted, none, waiting, rejected });
  };
  return (
    <BarChart
      bars={days.map((sum) => ({ key: sum.day, parts: series.map(([, mark, value]) => [mark, value(sum)] as const) }))}
      ticks={ticksFor(days.map(({ sent }) => sent))}
      pick={t("pick")}
      words={words}
      label={(index) => format.day(days[index]?.day ?? report.to)}
      legend={series.map(([name, className]) => ({ className, name: t(`series.${name}`) }))}
    />
  );
}
