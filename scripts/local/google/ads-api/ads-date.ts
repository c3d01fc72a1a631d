/** `2026-11-16 14:03:22+03:00`, the only form the Ads API takes: an offset with a colon, and a day that exists. Null when it is not that. */
export function readAdsDate(text: string): number | null {
  const [, date = "", time = "", offset = ""] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)([+-](?:0\d|1[0-4]):[0-5]\d)$/.exec(text) ?? [];
  const moment = Date.parse(`${date}T${time}${offset}`);
  // Date.parse takes the 31st of a shorter month for the 1st of the next.
  const isRealDay = Number.isFinite(moment) && new Date(`${date}T00:00:00Z`).toISOString().startsWith(date);
  return isRealDay ? moment : null;
}
