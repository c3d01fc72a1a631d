/** One bar: its name, and its parts from below, each with its colour's class. */
export interface Bar {
  key: string;
  parts: readonly { mark: string; value: number }[];
}

/** Stacked bars from zero to `top`, inside a ChartFrame. */
export function Bars({ bars, top, active }: { bars: readonly Bar[]; top: number; active: number | null }) {
  const slot = 1000 / bars.length;
  const y = (value: number) => 100 - (100 * value) / top;
  return (
    <>
      {active !== null && <rect className="fill-accent-fill" x={active * slot} y="0" width={slot} height="100" />}
      {bars.map(({ key, parts }, index) => {
        let below = 0;
        return parts.map(({ mark, value }) => {
          if (value === 0) return null;
          const from = below;
          below += value;
          // A hairline of air between the parts tells them apart without colour.
          const height = Math.max(0.6, y(from) - y(below) - (from > 0 ? 0.9 : 0));
          return <rect key={key + mark} className={mark} x={(index + 0.13) * slot} width={0.74 * slot} y={y(below)} height={height} />;
        });
      })}
    </>
  );
}
