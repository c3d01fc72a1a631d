/** A month in a line, for the phone, where the chart has no room. */
export function Spark({ values }: { values: number[] }) {
  const top = Math.max(1, ...values);
  const points = values.map(
    (value, index) => `${((100 * index) / Math.max(1, values.length - 1)).toFixed(1)} ${(18 - (16 * value) / top).toFixed(1)}`,
  );
  return (
    <svg className="spark" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">
      <path d={`M${points.join("L")}`} />
    </svg>
  );
}
