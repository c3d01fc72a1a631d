import { z } from "zod";

/** A site by its public id, as a caller names it: SQL says whether there is such a site. */
export const siteIdShape = z.string().brand<"SiteId">();
/** The same as the database gives it. The other id does not pass. */
export const storedSiteId = z
  .string()
  .regex(/^[0-9a-f]{32}$/)
  .brand<"SiteId">();
export type SiteId = z.output<typeof siteIdShape>;

/** A site by the database's own id. It never leaves the server. */
export const siteUuidShape = z.uuid().brand<"SiteUuid">();
export type SiteUuid = z.output<typeof siteUuidShape>;

/** How a site's conversions reach Google. */
export const syncMethods = ["script", "api"] as const;
export type SyncMethod = (typeof syncMethods)[number];

/** Whether a visitor is counted before giving consent. */
export const consentModes = ["off", "required"] as const;
