interface LinesProps {
  now: number[];
  then: number[];
  top: number;
  ticks: number[];
  active: number;
}

/** The drawing alone: gridlines, an area, two lines and a dot. Words are HTML around it. */
export function Lines({ now, then, top, ticks, active }: LinesProps) {
  const last = Math.max(1, now.length - 1);
  const y = (value: number) => 100 - (100 * value) / top;
  const path = (values: number[]) =>
    `M${values.map((value, index) => `${((1000 * index) / last).toFixed(1)} ${y(value).toFixed(1)}`).join("L")}`;
  return (
    <>
      <svg viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
        <g className="grid">
          {ticks.map((tick) => (
            <line key={tick} x1="0" x2="1000" y1={y(tick)} y2={y(tick)} />
          ))}
        </g>
        <path className="ar" d={`${path(now)}L1000 100L0 100Z`} />
        <path className="prev" d={path(then)} />
        <path className="ln" d={path(now)} />
      </svg>
      <span className="dot" style={{ left: `${(100 * active) / last}%`, top: `${y(now[active] ?? 0)}%` }} />
    </>
  );
}
