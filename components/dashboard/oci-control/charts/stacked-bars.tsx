/** One bar: its name, and its parts from below with their classes. */
export interface Bar {
  key: string;
  parts: readonly (readonly [className: string, value: number])[];
}

interface BarsProps {
  bars: readonly Bar[];
  ticks: number[];
  active: number | null;
}

/** Stacked bars from zero. */
export function StackedBars({ bars, ticks, active }: BarsProps) {
  const top = ticks.at(-1) ?? 1;
  const slot = 1000 / bars.length;
  const y = (value: number) => 100 - (100 * value) / top;
  return (
    <svg viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
      <g className="grid">
        {ticks.map((tick) => (
          <line key={tick} x1="0" x2="1000" y1={y(tick)} y2={y(tick)} />
        ))}
      </g>
      {active !== null && <rect className="m-on" x={active * slot} y="0" width={slot} height="100" />}
      {bars.map(({ key, parts }, index) => {
        let below = 0;
        return parts.map(([className, value]) => {
          if (value === 0) return null;
          const from = below;
          below += value;
          // A hairline of air between the parts tells them apart without colour.
          const height = Math.max(0.6, y(from) - y(below) - (from > 0 ? 0.9 : 0));
          return (
            <rect key={key + className} className={className} x={(index + 0.13) * slot} width={0.74 * slot} y={y(below)} height={height} />
          );
        });
      })}
    </svg>
  );
}
