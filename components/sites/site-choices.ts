import type { Locale } from "#lib/i18n/locale.ts";
import { listTimeZones } from "#lib/i18n/time-zones.ts";
import { currencyCodes } from "#lib/tenancy/site-fields.ts";
import type { SiteChoices } from "./site-choice-fields.tsx";

/** What a site's form offers, in the reader's language. Values already stored are always among it. */
export function siteChoices(locale: Locale, stored?: { currency: string; timezone: string }): SiteChoices {
  const names = new Intl.DisplayNames(locale, { type: "currency" });
  const codes = new Set([...currencyCodes, ...(stored ? [stored.currency] : [])]);
  return {
    currencies: [...codes].map((code) => ({ code, label: `${code} · ${names.of(code) ?? code}` })),
    timeZones: listTimeZones(locale, stored?.timezone),
  };
}
