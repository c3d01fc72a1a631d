import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import type { SiteId } from "#lib/site.ts";

/** Which screen asks. */
const topics = ["leads", "queue", "sales", "activity", "events", "setup"] as const;
export type VersionTopic = (typeof topics)[number];

export const siteVersionQuery = z.object({ of: z.enum(topics) });
const siteVersion = z.object({ version: z.string(), at: z.string() });

export const readSiteVersion = (db: SessionClient, siteId: SiteId, of: VersionTopic) =>
  callAsUser(db, "site_version", { p_public_id: siteId, p_of: of }, siteVersion);
