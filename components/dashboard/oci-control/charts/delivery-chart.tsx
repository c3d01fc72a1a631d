"use client";

import { useLocale, useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/context/control-context.tsx";
import { dateFormat } from "#lib/i18n/cached-format.ts";
import type { QueueCharts } from "#lib/oci/queue/charts.ts";
import { chartBuckets, ticksFor } from "./activity-buckets.ts";
import { BarChart } from "./bar-chart.tsx";

const marks = { delivered: "m-completed", retried: "m-retry", failed: "m-failed" } as const;
const series = ["delivered", "retried", "failed"] as const;

/** What was delivered, tried again and failed over time. */
export function DeliveryChart({ charts }: { charts: QueueCharts }) {
  const t = useTranslations("oci.charts");
  const { site } = useControl();
  const buckets = chartBuckets(charts, site.timezone);
  const name = useBucketName(charts.range);
  const words = (index: number) => {
    const bucket = buckets[index];
    return bucket ? t("tip", { when: name(bucket.at), delivered: bucket.delivered, failed: bucket.failed, retried: bucket.retried }) : "";
  };
  return (
    <BarChart
      bars={buckets.map((bucket) => ({ key: bucket.at, parts: series.map((key) => [marks[key], bucket[key]] as const) }))}
      ticks={ticksFor(buckets.map(({ delivered, failed, retried }) => delivered + failed + retried))}
      pick={t("pick")}
      words={words}
      label={(index) => (index === buckets.length - 1 ? t("now") : name(buckets[index]?.at ?? ""))}
      legend={series.map((key) => ({ className: marks[key], name: t(key) }))}
    />
  );
}

/** "14:00" where bars are hours, "3 Nov" where they are days. */
export function useBucketName(range: QueueCharts["range"]): (at: string) => string {
  const tag = useLocale() === "tr" ? "tr-TR" : "en-GB";
  const { site } = useControl();
  const options: Intl.DateTimeFormatOptions = range === "24h" ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short" };
  const format = dateFormat(tag, { timeZone: site.timezone, ...options });
  return (at) => (at ? format.format(new Date(at)) : "");
}
