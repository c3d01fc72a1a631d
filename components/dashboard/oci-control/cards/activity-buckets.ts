import type { QueueCharts } from "#lib/oci/queue/charts.ts";

type Bucket = QueueCharts["activity"][number];

/** A week by the hour is 168 bars, too thin for a card. Its hours are put together into days of the site's zone. */
export function chartBuckets({ activity, range }: Pick<QueueCharts, "activity" | "range">, timeZone: string): Bucket[] {
  if (range !== "7d") return activity;
  const day = new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" });
  const days = new Map<string, Bucket>();
  for (const hour of activity) {
    const key = day.format(new Date(hour.at));
    const sum = days.get(key) ?? { at: hour.at, delivered: 0, failed: 0, notSent: 0, retried: 0 };
    days.set(key, {
      at: sum.at,
      delivered: sum.delivered + hour.delivered,
      failed: sum.failed + hour.failed,
      notSent: sum.notSent + hour.notSent,
      retried: sum.retried + hour.retried,
    });
  }
  return [...days.values()];
}
