import type { Locale } from "./locale.ts";
import { intlTag, siteFormat } from "./site-format.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** Times and money as the desk writes them: the nearer, the shorter. A sale may have another currency than its site. */
export function deskFormat(locale: Locale, timeZone: string) {
  const tag = intlTag(locale);
  const base = siteFormat({ locale, timeZone });
  const dateWith = (options: Intl.DateTimeFormatOptions) => {
    const format = new Intl.DateTimeFormat(tag, { timeZone, ...options });
    return (value: string | Date) => format.format(new Date(value));
  };
  const dayKey = new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" });
  const weekdayTime = dateWith({ weekday: "short", hour: "2-digit", minute: "2-digit" });
  const shortDay = dateWith({ day: "numeric", month: "short" });
  const dayTime = dateWith({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const day = (value: string | Date) => dayKey.format(new Date(value));
  const unit = (value: number, name: string) =>
    new Intl.NumberFormat(locale, { style: "unit", unit: name, unitDisplay: "short" }).format(value);
  return {
    ...base,
    money: (cents: number, currency: string) => siteFormat({ locale, timeZone, currency }).money(cents),
    /** +50 */
    points: (value: number) => new Intl.NumberFormat(tag, { signDisplay: "always" }).format(value),
    /** Axis labels: 40 or 12K. */
    compact: (value: number) => new Intl.NumberFormat(tag, { notation: "compact" }).format(value),
    /** 2026-11-16, in the site's zone. */
    day,
    shortDay,
    /** A calendar day that has no zone of its own. */
    plainDay: (value: string, options: Intl.DateTimeFormatOptions) =>
      new Intl.DateTimeFormat(tag, { timeZone: "UTC", ...options }).format(new Date(value)),
    /** "20:12" today, "17 Nov, 20:12" on any other day. */
    moment: (value: string | Date, now: Date) => (day(value) === day(now) ? base.time(value) : dayTime(value)),
    /** How long ago a lead came: "2 min", "13:20", "Sat 18:22", "21 Aug". */
    when(value: string, now: Date): string {
      const age = now.getTime() - new Date(value).getTime();
      if (age < 60 * minuteMs) return unit(Math.max(0, Math.floor(age / minuteMs)), "minute");
      if (day(value) === day(now)) return base.time(value);
      return age < 6 * dayMs ? weekdayTime(value) : shortDay(value);
    },
    /** "20 seconds ago": who was first matters to the second. */
    since(value: string, now: Date): string {
      const seconds = Math.max(0, Math.round((now.getTime() - new Date(value).getTime()) / 1000));
      return seconds < 60 ? new Intl.RelativeTimeFormat(tag, { numeric: "auto" }).format(-seconds, "second") : base.ago(value, now);
    },
  };
}

export type DeskFormat = ReturnType<typeof deskFormat>;
