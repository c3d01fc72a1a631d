"use client";

import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/context/control-context.tsx";
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
  const { site, now } = useControl();
  const today = todayIn(site.timezone, now);
  const choose = (next: { from: string; to: string }) => {
    if (!isDay(next.from) || !isDay(next.to)) return; // half typed
    // The other end follows: a span never turns around and never grows too long.
    const ordered =
      next.from <= next.to ? next : { from: next.from === from ? next.to : next.from, to: next.from === from ? next.to : next.from };
    const days = daysBetween(ordered.from, ordered.to);
    onSpan({ from: ordered.from, to: days.length === daysMax ? (days.at(-1) ?? ordered.to) : ordered.to });
  };
  return (
    <span className="row flex-wrap">
      <fieldset className="seg" aria-label={t("span")}>
        {daySpans.map((length) => (
          <button key={length} type="button" aria-pressed={"last" in span && span.last === length} onClick={() => onSpan({ last: length })}>
            {t("last", { days: length })}
          </button>
        ))}
      </fieldset>
      <label className="row sm">
        <span className="sr">{t("from")}</span>
        <input className="input sm" type="date" value={from} max={today} onChange={(event) => choose({ from: event.target.value, to })} />
      </label>
      <label className="row sm">
        <span className="sr">{t("to")}</span>
        <input className="input sm" type="date" value={to} max={today} onChange={(event) => choose({ from, to: event.target.value })} />
      </label>
    </span>
  );
}
