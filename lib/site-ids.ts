import { z } from "zod";

/** A site by its public id: 32 hex characters in addresses, snippets and headers. */
export const siteIdShape = z.string().brand<"SiteId">();
export type SiteId = z.output<typeof siteIdShape>;

/** A site by the database's own id. It never leaves the server. */
export const siteUuidShape = z.uuid().brand<"SiteUuid">();
export type SiteUuid = z.output<typeof siteUuidShape>;
