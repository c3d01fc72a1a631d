/** A row of values as a line, for where a chart has no room. */
export function Spark({ values, className }: { values: number[]; className?: string }) {
  const top = Math.max(1, ...values);
  const points = values.map(
    (value, index) => `${((100 * index) / Math.max(1, values.length - 1)).toFixed(1)} ${(18 - (16 * value) / top).toFixed(1)}`,
  );
  return (
    <svg className={className} viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">
      <path
        className="fill-none stroke-[1.5] stroke-accent-mark [stroke-linejoin:round] [vector-effect:non-scaling-stroke]"
        d={`M${points.join("L")}`}
      />
    </svg>
  );
}
