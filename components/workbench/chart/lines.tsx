interface LinesProps {
  now: readonly number[];
  then: readonly number[];
  top: number;
  /** Where the dot is. */
  active: number;
}

/** A line with its area, and the period before it dashed, inside a ChartFrame with `isLine`. */
export function Lines({ now, then, top, active }: LinesProps) {
  const last = Math.max(1, now.length - 1);
  const y = (value: number) => 100 - (100 * value) / top;
  const point = (value: number, index: number) => `${((1000 * index) / last).toFixed(1)} ${y(value).toFixed(1)}`;
  const path = (values: readonly number[]) => `M${values.map(point).join("L")}`;
  const dot = point(now[active] ?? 0, active);
  const line = "fill-none [vector-effect:non-scaling-stroke]";
  return (
    <>
      <path className="fill-accent-fill" d={`${path(now)}L1000 100L0 100Z`} />
      <path className={`${line} stroke-[1.25] stroke-control opacity-75 [stroke-dasharray:3_4]`} d={path(then)} />
      <path className={`${line} stroke-[1.75] stroke-accent-mark [stroke-linejoin:round]`} d={path(now)} />
      {/* A round cap on a line without length is a dot that the stretched drawing leaves round. */}
      <path className={`${line} stroke-12 stroke-surface-1 [stroke-linecap:round]`} d={`M${dot}h0`} />
      <path className={`${line} stroke-8 stroke-accent-mark [stroke-linecap:round]`} d={`M${dot}h0`} />
    </>
  );
}
