import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { storedSiteId } from "#lib/site.ts";
import { siteRoles } from "./site-fields.ts";

const myAccount = z.object({
  sessions: z.array(z.object({ startedAt: z.string(), usedAt: z.string(), isThis: z.boolean() })),
  sites: z.array(
    z.object({
      siteId: storedSiteId,
      name: z.string(),
      role: z.enum(siteRoles),
      archived: z.boolean(),
      /** Nobody else owns this open site: it is handed over or archived before this person can go. */
      onlyOwner: z.boolean(),
    }),
  ),
});
export type MySession = z.output<typeof myAccount>["sessions"][number];
export type MySite = z.output<typeof myAccount>["sites"][number];

export const readMyAccount = (db: SessionClient) => callAsUser(db, "my_account", {}, myAccount);

export const deleteMyAccount = (db: SessionClient) => callAsUser(db, "delete_my_account", {}, z.object({ ok: z.literal(true) }));
