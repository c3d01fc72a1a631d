import { dateFormat, numberFormat } from "#lib/i18n/cached-format.ts";
import type { Locale } from "#lib/i18n/locale.ts";
import { shortLength, shortMoment } from "#lib/i18n/short-time.ts";
import type { ControlSite } from "./control-site.ts";

/** Money, moments and lengths as this page writes them: the reader's language, the site's zone. */
export function controlFormat(locale: Locale, site: ControlSite, now: Date) {
  const tag = locale === "tr" ? "tr-TR" : "en-GB";
  const timeZone = site.timezone;
  const exactMoney = (cents: number, currency: string, digits?: 0) =>
    numberFormat(tag, {
      style: "currency",
      currency,
      currencyDisplay: "narrowSymbol",
      ...(digits === 0 && { minimumFractionDigits: 0, maximumFractionDigits: 0 }),
    }).format(cents / 100);
  /** Whole amounts lose their ".00". */
  const money = (cents: number, currency = site.currency) => exactMoney(cents, currency, cents % 100 === 0 ? 0 : undefined);
  return {
    locale,
    number: (value: number) => numberFormat(tag).format(value),
    percent: (share: number) => numberFormat(tag, { style: "percent", maximumFractionDigits: 0 }).format(share),
    dateTime: (value: string) => dateFormat(tag, { timeZone, dateStyle: "medium", timeStyle: "medium" }).format(new Date(value)),
    date: (value: string) => dateFormat(tag, { timeZone, day: "numeric", month: "short" }).format(new Date(value)),
    /** A day as it stands in a report: "2026-11-16" is that day everywhere. */
    day: (value: string) => dateFormat(tag, { timeZone: "UTC", day: "numeric", month: "short" }).format(new Date(`${value}T00:00:00Z`)),
    money,
    /** Every cent: the one figure that is compared with a bill. */
    exactMoney: (cents: number, currency: string) => exactMoney(cents, currency),
    /** "₺79,650", or "₺79,650 + £120" where two currencies wait. */
    sums: (cents: Record<string, number>) => {
      const parts = Object.entries(cents).map(([currency, value]) => money(value, currency));
      return parts.length > 0 ? parts.join(" + ") : money(0);
    },
    moment: (value: string) => shortMoment({ locale, timeZone }, value, now),
    age: (value: string) => shortLength(locale, (now.getTime() - Date.parse(value)) / 1000),
    length: (seconds: number) => shortLength(locale, seconds),
  };
}
export type ControlFormat = ReturnType<typeof controlFormat>;
