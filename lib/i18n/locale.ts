/** The languages people read. A site's own language is one of these too. */
export const locales = ["tr", "en"] as const;
export type Locale = (typeof locales)[number];

export const localeCookie = "om_locale";

/** Each language is named in itself, so that a person finds their own. */
export const localeNames: Record<Locale, string> = { tr: "Türkçe", en: "English" };

/** Pages that belong to no site, such as the account page, show times in this zone. */
export const defaultTimeZone = "Europe/Istanbul";

export function parseLocale(value: unknown): Locale | null {
  return locales.find((locale) => locale === value) ?? null;
}

/** The stored choice wins; else Turkish for a browser that asks for Turkish first; else English. */
export function chooseLocale(cookie: string | undefined, acceptLanguage: string | null): Locale {
  return parseLocale(cookie) ?? (acceptLanguage?.trim().toLowerCase().startsWith("tr") ? "tr" : "en");
}
