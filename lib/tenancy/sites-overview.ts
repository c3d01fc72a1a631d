import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { storedSiteId, syncMethods } from "#lib/site.ts";

/** How a site's script or API stands, the most urgent first. */
const healthCodes = ["PAUSED", "NO_KEY", "NEVER_RAN", "NOT_CONNECTED", "BLOCKED", "CIRCUIT", "FAILED", "SILENT", "WELL"] as const;

const siteFigures = z.object({
  siteId: storedSiteId,
  lastEventAt: z.string().nullable(),
  leadsToday: z.number(),
  /** What was sealed on each of the last 14 days, oldest first, in hundredths of the site's currency. */
  sealedByDay: z.array(z.number()),
  waiting: z.number(),
  failed: z.number(),
  /** Leads that wait for somebody; counted up to 500. */
  needsYou: z.number(),
  health: z.object({ way: z.enum(syncMethods), code: z.enum(healthCodes), at: z.string().nullable() }),
});
export type SiteFigures = z.output<typeof siteFigures>;

export const readSitesOverview = (db: SessionClient) => callAsUser(db, "sites_overview", {}, z.array(siteFigures));
