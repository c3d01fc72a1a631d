"use client";

import { type PointerEvent, type ReactNode, useState } from "react";
import { cn } from "#components/ui/cn.ts";

interface FrameProps {
  /** How many moments there are, and which one the slider starts at. */
  count: number;
  start?: number;
  ticks: readonly number[];
  tickLabel: (tick: number) => string;
  /** What the slider of moments is called. */
  pick: string;
  /** A moment in a sentence, for the tip and for screen readers. */
  words: (index: number) => string;
  /** What stands below which moments. */
  labels: readonly { index: number; text: string }[];
  /** Lines begin and end at the edges; bars have room on both sides. */
  isLine?: boolean;
  className?: string;
  /** Draws the marks into 1000 × 100; `active` is the chosen moment. */
  children: (active: number | null) => ReactNode;
}

/** Axes, gridlines and a tip that follows the pointer and the arrow keys. */
export function ChartFrame({
  count,
  start = count - 1,
  ticks,
  tickLabel,
  pick,
  words,
  labels,
  isLine = false,
  className,
  children,
}: FrameProps) {
  const [chosen, setChosen] = useState(start);
  const [isShown, setShown] = useState(false);
  const last = count - 1;
  const active = Math.min(chosen, last);
  const placeOf = (index: number) => (isLine ? (100 * index) / Math.max(1, last) : (100 * (index + 0.5)) / count);
  const follow = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const share = (event.clientX - left) / width;
    setChosen(Math.min(last, Math.max(0, isLine ? Math.round(share * last) : Math.floor(share * count))));
    setShown(true);
  };
  const top = ticks.at(-1) ?? 1;
  return (
    <div className="relative grid flex-1 grid-cols-[34px_minmax(0,1fr)] grid-rows-[minmax(0,1fr)_auto] gap-x-2">
      <div className="relative text-[11px] text-meta leading-none" aria-hidden="true">
        {ticks.map((tick) => (
          <span key={tick} className="-translate-y-1/2 absolute right-0" style={{ top: `${100 - (100 * tick) / top}%` }}>
            {tickLabel(tick)}
          </span>
        ))}
      </div>
      {/* The slider over the plot is a native range, so keys, touch and screen readers all reach each moment. */}
      <div
        className={cn(
          "relative h-33 has-focus-visible:rounded-sm has-focus-visible:outline-2 has-focus-visible:outline-focus has-focus-visible:outline-offset-4",
          className,
        )}
        onPointerMove={follow}
        onPointerLeave={() => setShown(false)}
      >
        <svg className="absolute inset-0 size-full overflow-visible" viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
          {ticks.map((tick) => {
            const y = 100 - (100 * tick) / top;
            return <line key={tick} className="stroke-line-1 [vector-effect:non-scaling-stroke]" x1="0" x2="1000" y1={y} y2={y} />;
          })}
          {children(isShown ? active : null)}
        </svg>
        <input
          type="range"
          className="absolute inset-0 m-0 size-full cursor-crosshair touch-pan-y opacity-0"
          min={1}
          max={count}
          value={active + 1}
          aria-label={pick}
          aria-valuetext={words(active)}
          onChange={(event) => setChosen(Number(event.target.value) - 1)}
          onFocus={() => setShown(true)}
          onBlur={() => setShown(false)}
        />
        {isShown && (
          <div
            className="pointer-events-none absolute bottom-[calc(100%-12px)] z-2 whitespace-nowrap rounded-md bg-surface-pop px-2.5 py-2 text-xs leading-4.5 shadow-md"
            style={tipPlace(placeOf(active), isLine ? 0 : 4)}
          >
            {words(active)}
          </div>
        )}
      </div>
      <div className="relative col-start-2 h-5 text-[11px] text-meta leading-none" aria-hidden="true">
        {labels.map(({ index, text }) => (
          <span
            key={index}
            className="-translate-x-1/2 first:translate-x-0 last:-translate-x-full absolute top-2 whitespace-nowrap"
            style={{ left: `${placeOf(index)}%` }}
          >
            {text}
          </span>
        ))}
      </div>
    </div>
  );
}

/** Above the mark, and inside the chart at both ends. */
const tipPlace = (place: number, shift: number) =>
  place < 50 ? { left: `${Math.max(0, place - shift)}%` } : { right: `${Math.max(0, 100 - shift - place)}%` };

/** What the colours mean. */
export function Legend({ items }: { items: readonly { mark: string; name: string }[] }) {
  return (
    <figcaption className="mt-2 ml-[42px] flex flex-wrap gap-x-3.5 gap-y-1 text-support text-xs">
      {items.map(({ mark, name }) => (
        <span key={name} className="inline-flex items-center gap-1.5 whitespace-nowrap">
          <i className={cn("size-[9px] rounded-[2px]", mark)} />
          {name}
        </span>
      ))}
    </figcaption>
  );
}
