import { cache } from "react";
import { z } from "zod";
import { readPage } from "#lib/auth/session.ts";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { type SiteId, siteIdShape } from "#lib/site.ts";
import { siteCeilings } from "./site-ceilings.ts";
import { siteDelivery } from "./site-delivery.ts";
import { type SiteSummary, siteSummary } from "./site-fields.ts";
import { keyScopes, siteRoles } from "./site-roles.ts";
import { readSiteVersion, type VersionTopic } from "./site-version.ts";

const role = z.enum(siteRoles);

const mySites = z.object({
  sites: z.array(siteSummary),
  invitations: z.array(z.object({ id: z.string(), siteName: z.string(), role, invitedBy: z.string().nullable(), expiresAt: z.string() })),
  mayCreate: z.boolean(),
});
const team = z.object({
  members: z.array(z.object({ userId: z.string(), name: z.string(), email: z.string(), role, joinedAt: z.string(), isYou: z.boolean() })),
  invitations: z.array(z.object({ id: z.string(), email: z.string(), role, invitedAt: z.string(), expiresAt: z.string() })),
});
const apiKeys = z.array(
  z.object({
    id: z.string(),
    name: z.string(),
    prefix: z.string(),
    scopes: z.array(z.enum(keyScopes)),
    scopeUsed: z.partialRecord(z.enum(keyScopes), z.string()),
    createdAt: z.string(),
    revokedAt: z.string().nullable(),
  }),
);

export type MyInvitation = z.output<typeof mySites>["invitations"][number];
export type Member = z.output<typeof team>["members"][number];
export type Invitation = z.output<typeof team>["invitations"][number];
export type ApiKey = z.output<typeof apiKeys>[number];

const readSite = (db: SessionClient, siteId: SiteId) => callAsUser(db, "get_site", { p_public_id: siteId }, siteSummary);
export const readSiteDelivery = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "site_delivery", { p_public_id: siteId }, siteDelivery);
export const readSiteCeilings = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "read_site_ceilings", { p_public_id: siteId }, siteCeilings);
export const readTeam = (db: SessionClient, siteId: SiteId) => callAsUser(db, "list_site_members", { p_public_id: siteId }, team);
export const readApiKeys = (db: SessionClient, siteId: SiteId) => callAsUser(db, "list_site_api_keys", { p_public_id: siteId }, apiKeys);

// cache(): the layout and the page of one request ask the same question once.
export const listSites = cache(() => readPage((db) => callAsUser(db, "list_my_sites", {}, mySites)));
export const getSite = cache((named: string) => readPage(readSite, siteIdShape.parse(named)));

/** The site, and the version of what its screen shows. A page reads its list after this, so that the list is never older than the version. */
export async function getVersionedSite(named: string, of: VersionTopic): Promise<SiteSummary & { version: string }> {
  const [site, { version }] = await Promise.all([getSite(named), readPage(readSiteVersion, siteIdShape.parse(named), of)]);
  return { ...site, version };
}
