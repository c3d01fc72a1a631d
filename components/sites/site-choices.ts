import type { Locale } from "#lib/i18n/locale.ts";
import { listTimeZones } from "#lib/i18n/time-zones.ts";
import { currencies, currencyCodes } from "#lib/valuation/currencies.ts";
import type { SiteChoices } from "./site-choice-fields.tsx";

/** What a site's form offers, in the reader's language: every currency that the database takes, the usual ones first. */
export function siteChoices(locale: Locale, stored?: { timezone: string }): SiteChoices {
  const names = new Intl.DisplayNames(locale, { type: "currency", fallback: "none" });
  const named = (codes: readonly string[]) => codes.map((code) => ({ code, label: [code, names.of(code)].filter(Boolean).join(" · ") }));
  const usual: readonly string[] = currencyCodes;
  return {
    usualCurrencies: named(usual),
    otherCurrencies: named(currencies.filter((code) => !usual.includes(code))),
    timeZones: listTimeZones(locale, stored?.timezone),
  };
}
