"use client";

import { useLocale, useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { AsTable } from "#components/ui/as-table.tsx";
import { Card } from "#components/ui/card.tsx";
import { Segments } from "#components/ui/segmented.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { BarChart } from "#components/workbench/chart/bar-chart.tsx";
import { dateFormat } from "#lib/i18n/cached-format.ts";
import { intlTag } from "#lib/i18n/site-format.ts";
import type { QueueCharts } from "#lib/oci/queue/charts.ts";
import { chartRanges } from "#lib/oci/queue-types.ts";
import { chartBuckets } from "./activity-buckets.ts";

interface DeliveryCardProps {
  charts: QueueCharts;
  range: QueueCharts["range"];
  onRange: (range: QueueCharts["range"]) => void;
}

const series = [
  ["delivered", "bg-completed-mark fill-completed-mark", "oci.charts.delivered"],
  ["retried", "bg-retry-mark fill-retry-mark", "oci.charts.retried"],
  ["failed", "bg-failed-mark fill-failed-mark", "states.FAILED"],
  ["notSent", "bg-unsent-mark fill-unsent-mark", "states.NOT_SENT"],
] as const;

/** Delivery over time, and below it how long it takes and whether it runs. */
export function DeliveryCard({ charts, range, onRange }: DeliveryCardProps) {
  const t = useTranslations("oci.charts");
  const word = useTranslations();
  const { site } = useControl();
  const buckets = chartBuckets(charts, site.timezone);
  const name = useBucketName(charts.range);
  const words = (index: number) => {
    const { at = "", delivered = 0, failed = 0, notSent = 0, retried = 0 } = buckets[index] ?? {};
    return t("tip", { when: name(at), delivered, failed, notSent, retried });
  };
  const choice = (
    <Segments aria-label={word("labels.period")}>
      {chartRanges.map((each) => (
        <button key={each} type="button" aria-pressed={each === range} aria-label={t(`ranges.${each}`)} onClick={() => onRange(each)}>
          {t(`short.${each}`)}
        </button>
      ))}
    </Segments>
  );
  return (
    <Card title={t("delivery")} end={choice} className="flex flex-col">
      <BarChart
        key={charts.range}
        bars={buckets.map((bucket) => ({ key: bucket.at, parts: series.map(([key, mark]) => ({ mark, value: bucket[key] })) }))}
        pick={t("pick")}
        words={words}
        label={(index) => (index === buckets.length - 1 ? t("now") : name(buckets[index]?.at ?? ""))}
        legend={series.map(([, mark, name]) => ({ mark, name: word(name) }))}
      />
      <div>
        <Health latency={charts.latency} />
        <AsTable summary={word("workbench.asTable")}>
          <Table
            label={t("delivery")}
            columns={[
              { key: "at", header: word(charts.range === "24h" ? "oci.charts.hour" : "labels.day") },
              ...series.map(([key, , name]) => ({ key, header: word(name), align: "end" as const })),
            ]}
          >
            {buckets.map(({ at, delivered, retried, failed, notSent }) => (
              <tr key={at}>
                <Cell at="main">{name(at)}</Cell>
                <Cell at="end" align="end">
                  {delivered}
                </Cell>
                <Cell at="sub" align="end">
                  {retried}
                </Cell>
                <Cell at="meta" align="end">
                  {failed}
                </Cell>
                <Cell at="desk" align="end">
                  {notSent}
                </Cell>
              </tr>
            ))}
          </Table>
        </AsTable>
      </div>
    </Card>
  );
}

/** "14:00" where bars are hours, "3 Nov" where they are days. */
function useBucketName(range: QueueCharts["range"]): (at: string) => string {
  const tag = intlTag(useLocale());
  const { site } = useControl();
  const options: Intl.DateTimeFormatOptions = range === "24h" ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short" };
  const format = dateFormat(tag, { timeZone: site.timezone, ...options });
  return (at) => (at ? format.format(new Date(at)) : "");
}

function Health({ latency: { p50Seconds, p95Seconds } }: Pick<QueueCharts, "latency">) {
  const t = useTranslations("oci.charts");
  const states = useTranslations("states");
  const { site, stats, format, now } = useControl();
  const { lastRun, circuit, blocked } = stats;
  // A worker takes a turn only where something is due: its last one says when something was sent, not whether it runs.
  const isBad = lastRun !== null && (!lastRun.ok || blocked !== null);
  const ran = lastRun
    ? t(isBad ? "ranBadly" : lastRun.kind === "worker" ? "sentAgo" : "ran", { age: format.age(lastRun.at) })
    : t(site.ociSyncMethod === "api" ? "neverSent" : "neverRan");
  const isProbeLater = circuit?.nextProbeAt != null && Date.parse(circuit.nextProbeAt) > now.getTime();
  const probe =
    circuit?.state === "OPEN" && circuit.nextProbeAt && isProbeLater && `, ${t("probe", { time: format.moment(circuit.nextProbeAt) })}`;
  const facts = [
    {
      name: t("sealToDelivery"),
      value:
        p50Seconds === null || p95Seconds === null
          ? t("noLatency")
          : t("latency", { half: format.length(p50Seconds), most: format.length(p95Seconds) }),
    },
    { name: states(site.ociSyncMethod), value: ran, tone: isBad && "text-failed" },
    ...(circuit && !blocked
      ? [{ name: t("circuit"), value: t(`circuits.${circuit.state}`) + (probe || ""), tone: circuit.state !== "CLOSED" && "text-retry" }]
      : []),
  ];
  return (
    <dl className="border-t border-line-1 px-4 pt-2 pb-2.5 text-xs leading-5">
      {facts.map(({ name, value, tone }) => (
        <div key={name} className="flex gap-3">
          <dt className="flex-1 text-meta">{name}</dt>
          <dd className={`text-right font-medium ${tone || ""}`}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
