import type { Bucket } from "./activity-buckets.ts";

const series = [
  ["delivered", "m-completed"],
  ["retried", "m-retry"],
  ["failed", "m-failed"],
] as const;

interface BarsProps {
  buckets: Bucket[];
  ticks: number[];
  active: number | null;
}

/** Stacked bars from zero: delivered below, then tried again, then failed. */
export function DeliveryBars({ buckets, ticks, active }: BarsProps) {
  const top = ticks.at(-1) ?? 1;
  const slot = 1000 / buckets.length;
  const y = (value: number) => 100 - (100 * value) / top;
  return (
    <svg viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
      <g className="grid">
        {ticks.map((tick) => (
          <line key={tick} x1="0" x2="1000" y1={y(tick)} y2={y(tick)} />
        ))}
      </g>
      {active !== null && <rect className="m-on" x={active * slot} y="0" width={slot} height="100" />}
      {buckets.map((bucket, index) => {
        let below = 0;
        return series.map(([key, className]) => {
          const value = bucket[key];
          if (value === 0) return null;
          const from = below;
          below += value;
          // A hairline of air between the parts tells them apart without colour.
          const height = Math.max(0.6, y(from) - y(below) - (from > 0 ? 0.9 : 0));
          return (
            <rect key={bucket.at + key} className={className} x={(index + 0.13) * slot} width={0.74 * slot} y={y(below)} height={height} />
          );
        });
      })}
    </svg>
  );
}
