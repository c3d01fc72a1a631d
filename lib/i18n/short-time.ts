import { dateFormat } from "./cached-format.ts";
import type { Locale } from "./locale.ts";

/** Lengths and moments in as few letters as a table has room for. */
const tags: Record<Locale, string> = { en: "en-GB", tr: "tr-TR" };

const steps: [limitSeconds: number, unitSeconds: number, words: Record<Locale, string>][] = [
  [60, 1, { en: "s", tr: "sn" }],
  [60 * 60, 60, { en: "min", tr: "dk" }],
  [48 * 60 * 60, 60 * 60, { en: "h", tr: "sa" }],
  [Number.POSITIVE_INFINITY, 24 * 60 * 60, { en: "days", tr: "gün" }],
];

/** "40 s", "11 min", "3 h", "2 days". Intl's own short units are longer than a column: "11 mins". */
export function shortLength(locale: Locale, seconds: number): string {
  const [, unitSeconds, words] = steps.find(([limit]) => seconds < limit) ?? [0, 1, { en: "s", tr: "sn" }];
  return `${Math.max(0, Math.floor(seconds / unitSeconds))} ${words[locale]}`;
}

/** "14:32" today, "12 Nov 14:32" on any other day, in the site's zone. */
export function shortMoment({ locale, timeZone }: { locale: Locale; timeZone: string }, value: string, now: Date): string {
  const at = new Date(value);
  const day = dateFormat("en-CA", { timeZone, dateStyle: "short" });
  const time = dateFormat(tags[locale], { timeZone, hour: "2-digit", minute: "2-digit" }).format(at);
  if (day.format(at) === day.format(now)) return time;
  return `${dateFormat(tags[locale], { timeZone, day: "numeric", month: "short" }).format(at)} ${time}`;
}
