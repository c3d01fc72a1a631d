import { currencyDecimals } from "#lib/valuation/currencies.ts";
import type { Locale } from "./locale.ts";

/** English is written the European way (16 Nov, 20:12), as the operators of these sites expect it. */
const intlLocales: Record<Locale, string> = { en: "en-GB", tr: "tr-TR" };

export const intlTag = (locale: Locale) => intlLocales[locale];

const relativeSteps: [limitSeconds: number, unitSeconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [60, 60, "second"], // always "now"
  [60 * 60, 60, "minute"],
  [24 * 60 * 60, 60 * 60, "hour"],
  [14 * 24 * 60 * 60, 24 * 60 * 60, "day"],
];

export interface SiteFormatOptions {
  locale: Locale;
  timeZone: string;
  currency?: string;
}

/** Dates, numbers and money in the reader's language and the site's zone and currency. */
export function siteFormat({ locale, timeZone, currency }: SiteFormatOptions) {
  const tag = intlTag(locale);
  const dateWith = (options: Intl.DateTimeFormatOptions) => (value: string | Date) =>
    new Intl.DateTimeFormat(tag, { timeZone, ...options }).format(new Date(value));
  const date = dateWith({ day: "numeric", month: "short", year: "numeric" });
  return {
    date,
    weekday: dateWith({ weekday: "long", day: "numeric", month: "long" }),
    time: dateWith({ hour: "2-digit", minute: "2-digit" }),
    dateTime: dateWith({ day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" }),
    number: (value: number) => new Intl.NumberFormat(tag).format(value),
    /**
     * Whole amounts lose their ".00", but not in a currency with three decimals: there "12,500" is read as twelve and a half, too.
     * A site without a currency shows the bare number.
     */
    money: (cents: number) =>
      new Intl.NumberFormat(tag, {
        ...(currency ? { style: "currency", currency, currencyDisplay: "narrowSymbol" } : {}),
        minimumFractionDigits: cents % 100 === 0 && (currencyDecimals(currency ?? "") ?? 0) < 3 ? 0 : 2,
        maximumFractionDigits: 2,
      }).format(cents / 100),
    /** "5 minutes ago" up to two weeks, the date after that. */
    ago(value: string | Date, now: Date): string {
      const seconds = Math.round((new Date(value).getTime() - now.getTime()) / 1000);
      const step = relativeSteps.find(([limitSeconds]) => Math.abs(seconds) < limitSeconds);
      if (!step) return date(value);
      const [, unitSeconds, unit] = step;
      return new Intl.RelativeTimeFormat(tag, { numeric: "auto" }).format(Math.trunc(seconds / unitSeconds), unit);
    },
  };
}
