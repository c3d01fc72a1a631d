"use client";

import { useTranslations } from "next-intl";
import { ticksFor } from "#components/dashboard/oci-control/charts/activity-buckets.ts";
import { BarChart } from "#components/dashboard/oci-control/charts/bar-chart.tsx";
import { useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { type DaySum, sumByDay } from "#lib/oci/day-span.ts";
import type { DeliveryDays } from "#lib/oci/delivery-days.ts";

/** What Google says of a day's conversions, from below: counted, no answer, refused. Together they are what was sent. */
const series = [
  ["counted", "m-completed", ({ confirmed, duplicate }: DaySum) => confirmed + duplicate],
  ["open", "m-queued", ({ waiting, unknown, noVerdict }: DaySum) => waiting + unknown + noVerdict],
  ["rejected", "m-failed", ({ rejected }: DaySum) => rejected],
] as const;

export function DaysChart({ report }: { report: DeliveryDays }) {
  const t = useTranslations("oci.days");
  const format = useControlFormat();
  const days = sumByDay(report);
  const words = (index: number) => {
    const sum = days[index];
    if (!sum) return "";
    const [counted, open, rejected] = series.map(([, , value]) => value(sum));
    return t("tip", { day: format.day(sum.day), sent: sum.sent, counted: counted ?? 0, open: open ?? 0, rejected: rejected ?? 0 });
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
