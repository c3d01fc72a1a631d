"use client";

import { type PointerEvent, useState } from "react";
import { useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { type Bar, StackedBars } from "./stacked-bars.tsx";

interface BarChartProps {
  bars: readonly Bar[];
  ticks: number[];
  /** What the slider of moments is called. */
  pick: string;
  /** A bar in a sentence, for the tip and for screen readers. */
  words: (index: number) => string;
  /** What stands below a bar. */
  label: (index: number) => string;
  legend: readonly { className: string; name: string }[];
}

/** Stacked bars over time. The tip follows the pointer and the arrow keys. */
export function BarChart({ bars, ticks, pick, words, label, legend }: BarChartProps) {
  const format = useControlFormat();
  const [active, setActive] = useState(bars.length - 1);
  const [shown, setShown] = useState(false);
  const follow = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    setActive(Math.min(bars.length - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * bars.length))));
    setShown(true);
  };
  const at = Math.min(active, bars.length - 1);
  const place = (100 * (at + 0.5)) / bars.length;
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
          <StackedBars bars={bars} ticks={ticks} active={shown ? at : null} />
          <input
            type="range"
            min={1}
            max={bars.length}
            value={at + 1}
            aria-label={pick}
            aria-valuetext={words(at)}
            onChange={(event) => setActive(Number(event.target.value) - 1)}
            onFocus={() => setShown(true)}
            onBlur={() => setShown(false)}
          />
          {shown && (
            <div
              className="tip"
              style={at < bars.length / 2 ? { left: `${Math.max(0, place - 4)}%` } : { right: `${Math.max(0, 96 - place)}%` }}
            >
              {words(at)}
            </div>
          )}
        </div>
        <div className="x" aria-hidden="true">
          {labelledBars(bars.length).map((index) => (
            <span key={index} style={{ left: `${(100 * (index + 0.5)) / bars.length}%` }}>
              {label(index)}
            </span>
          ))}
        </div>
      </div>
      <figcaption className="legend mt-2 ml-[42px]">
        {legend.map(({ className, name }) => (
          <span key={className}>
            <i className={className} />
            {name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** The first, the last and two between them. */
const labelledBars = (count: number) => [...new Set([0, Math.floor(count / 3), Math.floor((2 * count) / 3), count - 1])];
