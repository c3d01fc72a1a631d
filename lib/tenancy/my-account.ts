import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { boundedText } from "#lib/platform/bounded-text.ts";
import { storedSiteId } from "#lib/site.ts";
import { siteRoles } from "./site-roles.ts";

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

export const accountInput = z.strictObject({ name: boundedText(80) });

/** A person's own name, as their teams read it. The session is renewed: its token carries the name. */
export async function renameMe(db: SessionClient, { name }: z.output<typeof accountInput>): Promise<{ ok: true }> {
  const { error } = await db.auth.updateUser({ data: { full_name: name } });
  if (error) throw new AppError("AUTH_UNAVAILABLE", { cause: error });
  await db.auth.refreshSession();
  return { ok: true };
}
