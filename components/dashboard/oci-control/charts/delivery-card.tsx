"use client";

import { useTranslations } from "next-intl";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { Card } from "#components/ui/card.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import type { QueueCharts } from "#lib/oci/queue/charts.ts";
import type { QueueStats } from "#lib/oci/queue/stats.ts";
import { chartRanges as ranges } from "#lib/oci/queue-types.ts";
import { chartBuckets } from "./activity-buckets.ts";
import { DeliveryChart, useBucketName } from "./delivery-chart.tsx";

interface DeliveryCardProps {
  charts: QueueCharts;
  stats: QueueStats;
  onRange: (range: QueueCharts["range"]) => void;
}

/** Delivery over time, and below it how long it takes and whether it runs. */
export function DeliveryCard({ charts, stats, onRange }: DeliveryCardProps) {
  const t = useTranslations("oci.charts");
  const range = (
    <fieldset className="seg" aria-label={t("range")}>
      {ranges.map((each) => (
        <button
          key={each}
          type="button"
          aria-pressed={each === charts.range}
          aria-label={t(`ranges.${each}`)}
          onClick={() => onRange(each)}
        >
          {t(`short.${each}`)}
        </button>
      ))}
    </fieldset>
  );
  return (
    <Card title={t("delivery")} end={range}>
      <DeliveryChart key={charts.range} charts={charts} />
      <div className="push">
        <Health charts={charts} stats={stats} />
        <AsTable charts={charts} />
      </div>
    </Card>
  );
}

function Health({ charts: { latency }, stats: { lastRun, circuit, blocked } }: Omit<DeliveryCardProps, "onRange">) {
  const t = useTranslations("oci.charts");
  const format = useControlFormat();
  const { site } = useControl();
  const latencyWords =
    latency.p50Seconds === null || latency.p95Seconds === null
      ? t("noLatency")
      : t("latency", { half: format.length(latency.p50Seconds), most: format.length(latency.p95Seconds) });
  // A worker takes a turn only where something is due: its last one says when something was sent, not whether it runs.
  const isBad = lastRun !== null && (!lastRun.ok || blocked !== null);
  return (
    <dl className="mini">
      <div>
        <dt>{t("sealToDelivery")}</dt>
        <dd>{latencyWords}</dd>
      </div>
      <div>
        <dt>{t(site.ociSyncMethod)}</dt>
        <dd className={isBad ? "fg-failed" : undefined}>
          {lastRun
            ? t(isBad ? "ranBadly" : lastRun.kind === "worker" ? "sentAgo" : "ran", { age: format.age(lastRun.at) })
            : t(site.ociSyncMethod === "api" ? "neverSent" : "neverRan")}
        </dd>
      </div>
      {circuit && !blocked && (
        <div>
          <dt>{t("circuit")}</dt>
          <dd className={circuit.state === "CLOSED" ? undefined : "fg-retry"}>
            {t(`circuits.${circuit.state}`)}
            {circuit.state === "OPEN" && circuit.nextProbeAt && `, ${t("probe", { time: format.moment(circuit.nextProbeAt) })}`}
          </dd>
        </div>
      )}
    </dl>
  );
}

function AsTable({ charts }: { charts: QueueCharts }) {
  const t = useTranslations("oci.charts");
  const { site } = useControl();
  const name = useBucketName(charts.range);
  const columns = [
    { key: "at", header: t(charts.range === "24h" ? "hour" : "day") },
    ...(["delivered", "retried", "failed"] as const).map((key) => ({ key, header: t(key), align: "end" as const })),
  ];
  return (
    <details className="as-table">
      <summary>{t("asTable")}</summary>
      <Table label={t("delivery")} columns={columns}>
        {chartBuckets(charts, site.timezone).map(({ at, delivered, retried, failed }) => (
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
          </tr>
        ))}
      </Table>
    </details>
  );
}
