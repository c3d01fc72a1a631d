import type { Locale } from "#lib/i18n/locale.ts";
import en from "./messages/en.json" with { type: "json" };
import tr from "./messages/tr.json" with { type: "json" };

export type Messages = typeof en;

/** The texts of the demo's own pages. They are not the product's, so they do not stand in its message files. */
export const messages: Record<Locale, Messages> = { en, tr };

/** Puts values into a text: {name}. */
export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (place, name) => String(values[name] ?? place));
}

/** Times as the site's people see them, money in its currency. */
export function formatsOf(locale: Locale, timeZone: string) {
  const clock = new Intl.DateTimeFormat(locale === "tr" ? "tr-TR" : "en-GB", {
    timeZone,
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  return {
    time: (at: Date) => clock.format(at),
    money: (amount: number, currency: string) =>
      new Intl.NumberFormat(locale === "tr" ? "tr-TR" : "en-GB", {
        style: "currency",
        currency,
        currencyDisplay: "narrowSymbol",
        minimumFractionDigits: Number.isInteger(amount) ? 0 : 2,
      }).format(amount),
  };
}
