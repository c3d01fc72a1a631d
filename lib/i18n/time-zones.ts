import type { Locale } from "./locale.ts";

export interface TimeZoneGroup {
  region: string;
  zones: { zone: string; label: string }[];
}

function offsetOf(zone: string, locale: Locale): string {
  const parts = new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: "shortOffset" }).formatToParts(new Date());
  return parts.find((part) => part.type === "timeZoneName")?.value ?? "";
}

/**
 * Every IANA zone, grouped by region, with the city first so that typing "Ist" in the list finds Istanbul.
 * `chosen` is added when this machine's list lacks it: a stored zone must never vanish from its own form.
 */
export function listTimeZones(locale: Locale, chosen?: string): TimeZoneGroup[] {
  const groups = new Map<string, TimeZoneGroup>();
  const all = new Set(["UTC", ...Intl.supportedValuesOf("timeZone"), ...(chosen ? [chosen] : [])]);
  for (const zone of all) {
    const [region = zone, ...city] = zone.split("/");
    const name = (city.length > 0 ? city.join(", ") : zone).replaceAll("_", " ");
    const group = groups.get(region) ?? { region, zones: [] };
    group.zones.push({ zone, label: `${name} (${offsetOf(zone, locale)})` });
    groups.set(region, group);
  }
  return [...groups.values()];
}
