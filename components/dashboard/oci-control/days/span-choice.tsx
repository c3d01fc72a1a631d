"use client";

import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { Input } from "#components/ui/input.tsx";
import { Segments } from "#components/ui/segmented.tsx";
import { daySpans, daysBetween, daysMax, isDay, todayIn } from "#lib/oci/queue/day-span.ts";
import type { ViewSpan } from "#lib/oci/queue/view.ts";

interface SpanChoiceProps {
  span: ViewSpan;
  from: string;
  to: string;
  onSpan: (span: ViewSpan) => void;
}

/** The last 7, 30 or 90 days, or any two days at most 92 apart. */
export function SpanChoice({ span, from, to, onSpan }: SpanChoiceProps) {
  const t = useTranslations("oci.days");
  const word = useTranslations();
  const { site, now } = useControl();
  const days = { from, to };
  const choose = (end: "from" | "to", day: string) => {
    if (!isDay(day)) return; // half typed
    // The other end follows, so that a span is never reversed or too long.
    const chosen = { ...days, [end]: day };
    const ordered = chosen.from <= chosen.to ? chosen : { from: day, to: day };
    const between = daysBetween(ordered.from, ordered.to);
    onSpan({ from: ordered.from, to: between.length === daysMax ? (between.at(-1) ?? ordered.to) : ordered.to });
  };
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-2">
      <Segments aria-label={word("labels.period")}>
        {daySpans.map((length) => (
          <button key={length} type="button" aria-pressed={"last" in span && span.last === length} onClick={() => onSpan({ last: length })}>
            {t("last", { days: length })}
          </button>
        ))}
      </Segments>
      {(["from", "to"] as const).map((end) => (
        <Input
          key={end}
          className="w-auto text-sm"
          type="date"
          aria-label={t(end)}
          value={days[end]}
          max={todayIn(site.timezone, now)}
          onChange={(event) => choose(end, event.target.value)}
        />
      ))}
    </span>
  );
}
