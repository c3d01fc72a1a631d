import type { Locale } from "./locale.ts";

/** Lengths and moments in as few letters as a table has room for. */
const tags: Record<Locale, string> = { en: "en-GB", tr: "tr-TR" };

const steps: [limitSeconds: number, unitSeconds: number, unit: "second" | "minute" | "hour" | "day"][] = [
  [60, 1, "second"],
  [60 * 60, 60, "minute"],
  [24 * 60 * 60, 60 * 60, "hour"],
  [Number.POSITIVE_INFINITY, 24 * 60 * 60, "day"],
];

/** "40 s", "11 min", "3 h", "2 days". */
export function shortLength(locale: Locale, seconds: number): string {
  const [, unitSeconds, unit] = steps.find(([limit]) => seconds < limit) ?? [0, 1, "second"];
  const unitDisplay = unit === "day" ? "long" : "short";
  return new Intl.NumberFormat(tags[locale], { style: "unit", unit, unitDisplay }).format(Math.max(0, Math.floor(seconds / unitSeconds)));
}

/** "14:32" today, "12 Nov 14:32" on any other day, in the site's zone. */
export function shortMoment({ locale, timeZone }: { locale: Locale; timeZone: string }, value: string, now: Date): string {
  const at = new Date(value);
  const day = new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" });
  const time = new Intl.DateTimeFormat(tags[locale], { timeZone, hour: "2-digit", minute: "2-digit" }).format(at);
  if (day.format(at) === day.format(now)) return time;
  return `${new Intl.DateTimeFormat(tags[locale], { timeZone, day: "numeric", month: "short" }).format(at)} ${time}`;
}
