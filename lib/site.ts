import { z } from "zod";

/** A site by its public id: 32 hex characters in addresses, snippets and headers. */
export const siteIdShape = z.string().brand<"SiteId">();
export type SiteId = z.output<typeof siteIdShape>;

/** A site by the database's own id. It never leaves the server. */
export const siteUuidShape = z.uuid().brand<"SiteUuid">();
export type SiteUuid = z.output<typeof siteUuidShape>;

/** How a site's conversions reach Google. */
export const syncMethods = ["script", "api"] as const;
export type SyncMethod = (typeof syncMethods)[number];

/** Whether a visitor is counted before giving consent. */
export const consentModes = ["off", "required"] as const;
