import type { Locale } from "#lib/i18n/locale.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";

const intlLocales: Record<Locale, string> = { en: "en-GB", tr: "tr-TR" };

/** Formats of months, days and money in billing. Its calendar is UTC, and an invoice shows every cent. */
export function billingFormat(locale: Locale, currency?: string) {
  const tag = intlLocales[locale];
  const onDay = (options: Intl.DateTimeFormatOptions) => (day: string) =>
    new Intl.DateTimeFormat(tag, { timeZone: "UTC", ...options }).format(new Date(day.length === 7 ? `${day}-01` : day));
  const { number, money, date, dateTime } = siteFormat({ locale, timeZone: "UTC", ...(currency && { currency }) });
  return {
    number,
    date,
    dateTime,
    /** "₺1,490" where whole amounts are enough. */
    roundMoney: money,
    money: (cents: number) =>
      new Intl.NumberFormat(tag, {
        ...(currency && { style: "currency", currency, currencyDisplay: "narrowSymbol" }),
        minimumFractionDigits: 2,
        maximumFractionDigits: 2,
      }).format(cents / 100),
    /** "October 2026" */
    month: onDay({ month: "long", year: "numeric" }),
    /** "October" */
    monthName: onDay({ month: "long" }),
    /** "30 November" */
    longDay: onDay({ day: "numeric", month: "long" }),
    /** "1 Nov" */
    shortDay: onDay({ day: "numeric", month: "short" }),
    /** "Mon 3 Nov" */
    weekday: onDay({ weekday: "short", day: "numeric", month: "short" }),
    /** "2026-11-03 14:05:09.120" in UTC, the same in every language: it is compared with a file. */
    instant: (at: string) => at.replace("T", " ").replace("Z", "").slice(0, 23),
    /** "87%" */
    percent: (share: number) => new Intl.NumberFormat(tag, { style: "percent", maximumFractionDigits: 0 }).format(share),
    /** "2.5K" on an axis */
    compact: (value: number) => new Intl.NumberFormat(tag, { notation: "compact", maximumFractionDigits: 1 }).format(value),
  };
}

/** Enough of a hash to compare by eye. */
export const shortHash = (hash: string) => `${hash.slice(0, 4)}…${hash.slice(-4)}`;
