import { csvLine } from "#lib/csv/csv.ts";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import type { SiteId } from "#lib/site.ts";
import { type UsageOrigins, usageOrigins } from "./billing-shapes.ts";

/** Where the units of a day came from; without a day, those of the newest unusual one. */
export const readUsageOrigins = (db: SessionClient, siteId: SiteId, day?: string): Promise<UsageOrigins> =>
  callAsUser(db, "list_usage_origins", { p_public_id: siteId, ...(day && { p_day: day }) }, usageOrigins);

/** Its lines add up to what the day has counted. */
export function originsCsv({ day, waiting, origins }: UsageOrigins): string {
  return [
    csvLine(["day_utc", "address_range", "browser", "units"]),
    ...origins.map(({ network, browser, units }) => csvLine([day, network || "unknown", browser || "unknown", units])),
    ...(waiting > 0 ? [csvLine([day, "not stored yet", "", waiting])] : []),
  ].join("");
}
