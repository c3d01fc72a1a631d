"use client";

import { useLocale, useTranslations } from "next-intl";
import { type PointerEvent, useState } from "react";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { dateFormat } from "#lib/i18n/cached-format.ts";
import type { QueueCharts } from "#lib/oci/control-shapes.ts";
import { type Bucket, chartBuckets, ticksFor } from "./activity-buckets.ts";
import { DeliveryBars } from "./delivery-bars.tsx";

/** What was delivered, tried again and failed over time. The tip follows the pointer and the arrow keys. */
export function DeliveryChart({ charts }: { charts: QueueCharts }) {
  const t = useTranslations("oci.charts");
  const format = useControlFormat();
  const { site } = useControl();
  const buckets = chartBuckets(charts, site.timezone);
  const ticks = ticksFor(buckets);
  const name = useBucketName(charts.range);
  const [active, setActive] = useState(buckets.length - 1);
  const [shown, setShown] = useState(false);
  const words = ({ at, delivered, failed, retried }: Bucket) => t("tip", { when: name(at), delivered, failed, retried });
  const follow = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    setActive(Math.min(buckets.length - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * buckets.length))));
    setShown(true);
  };
  const at = Math.min(active, buckets.length - 1);
  const chosen = buckets[at];
  const place = (100 * (at + 0.5)) / buckets.length;
  const labelled = [0, Math.floor(buckets.length / 3), Math.floor((2 * buckets.length) / 3), buckets.length - 1];
  return (
    <figure className="chart-box">
      <div className="chart">
        <div className="y" aria-hidden="true">
          {ticks.map((tick) => (
            <span key={tick} style={{ top: `${100 - (100 * tick) / (ticks.at(-1) ?? 1)}%` }}>
              {format.number(tick)}
            </span>
          ))}
        </div>
        <div className="plot low" onPointerMove={follow} onPointerLeave={() => setShown(false)}>
          <DeliveryBars buckets={buckets} ticks={ticks} active={shown ? at : null} />
          <input
            type="range"
            min={1}
            max={buckets.length}
            value={at + 1}
            aria-label={t("pick")}
            aria-valuetext={chosen && words(chosen)}
            onChange={(event) => setActive(Number(event.target.value) - 1)}
            onFocus={() => setShown(true)}
            onBlur={() => setShown(false)}
          />
          {shown && chosen && (
            <div
              className="tip"
              style={at < buckets.length / 2 ? { left: `${Math.max(0, place - 4)}%` } : { right: `${Math.max(0, 96 - place)}%` }}
            >
              {words(chosen)}
            </div>
          )}
        </div>
        <div className="x" aria-hidden="true">
          {labelled.map((index) => (
            <span key={index} style={{ left: `${(100 * (index + 0.5)) / buckets.length}%` }}>
              {index === buckets.length - 1 ? t("now") : name(buckets[index]?.at ?? "")}
            </span>
          ))}
        </div>
      </div>
      <figcaption className="legend mt-2 ml-[42px]">
        {(["delivered", "retried", "failed"] as const).map((key) => (
          <span key={key}>
            <i className={{ delivered: "m-completed", retried: "m-retry", failed: "m-failed" }[key]} />
            {t(key)}
          </span>
        ))}
      </figcaption>
    </figure>
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
