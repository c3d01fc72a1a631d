/**
 * A conversion's time as each of Google's APIs wants it. All three name the same second; fractions are cut off. The local ones
 * carry their offset, so an hour that a zone has twice, or never, stays exact. What cannot be expressed throws: a conversion
 * must never go out with another time than its own.
 */

const yearMin = 1970;
const yearMax = 9999;

/** The only shape the Google Ads Script takes. It holds the same expression; both are tested with the same strings. */
export const scriptTimePattern = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01]) ([01]\d|2[0-3]):[0-5]\d:[0-5]\d[+-](0\d|1[0-4])[0-5]\d$/;

/** `2026-11-16 14:03:22+0300`: the CSV upload of a Google Ads Script. */
export function scriptTime(instant: Date, timeZone: string): string {
  return localTime(instant, timeZone, "");
}

/** `2026-11-16 14:03:22+03:00`: the Google Ads API. */
export function adsApiTime(instant: Date, timeZone: string): string {
  return localTime(instant, timeZone, ":");
}

/** `2026-11-16T11:03:22Z`: the Data Manager API, which needs no zone. */
export function dataManagerTime(instant: Date): string {
  return `${isoSeconds(checked(instant))}Z`;
}

function localTime(instant: Date, timeZone: string, separator: string): string {
  const minutes = offsetMinutes(checked(instant), timeZone);
  const local = checked(new Date(instant.getTime() + minutes * 60_000));
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60].map((part) => String(part).padStart(2, "0"));
  return `${isoSeconds(local).replace("T", " ")}${minutes < 0 ? "-" : "+"}${hours}${separator}${rest}`;
}

function isoSeconds(instant: Date): string {
  return instant.toISOString().slice(0, "yyyy-mm-ddThh:mm:ss".length);
}

function checked(instant: Date): Date {
  const year = instant.getUTCFullYear();
  if (!(year >= yearMin && year <= yearMax)) throw new RangeError(`a conversion's time lies between ${yearMin} and ${yearMax}`);
  return instant;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Zones had seconds in their offset until 1972; the nearest minute names the same instant with another wall clock. */
function offsetMinutes(instant: Date, timeZone: string): number {
  if (!/^[A-Za-z]/.test(timeZone)) throw new RangeError(`${timeZone} is no IANA time zone`);
  // Making a format takes 135 µs, using it 22 µs, and an export has a thousand rows of one zone.
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "longOffset" });
  formats.set(timeZone, format);
  const name = format.formatToParts(instant).find((part) => part.type === "timeZoneName")?.value ?? "";
  const match = /^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(name);
  if (!match) throw new RangeError(`${timeZone} has no offset that can be read`);
  const [, sign, hours = 0, minutes = 0, seconds = 0] = match;
  const magnitude = Math.round(Number(hours) * 60 + Number(minutes) + Number(seconds) / 60);
  return sign === "-" ? -magnitude : magnitude;
}
