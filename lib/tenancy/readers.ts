import "server-only";
import { notFound } from "next/navigation";
import { cache } from "react";
import { z } from "zod";
import { readPage } from "#lib/auth/session.ts";
import { connectionState } from "#lib/delivery/connection-shapes.ts";
import { scriptStatus } from "#lib/oci/script-diagnosis.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { siteDelivery } from "./site-delivery.ts";
import { keyScopes, type SiteSummary, siteRoles, siteSummary } from "./site-fields.ts";
import { siteVersion, type VersionTopic } from "./site-version.ts";

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

const ingestStatus = z.object({ lastEventAt: z.string().nullable(), failed: z.number() });
const failedEvents = z.array(z.object({ id: z.string(), receivedAt: z.string(), attempts: z.number(), reason: z.string() }));
export type FailedEvent = z.output<typeof failedEvents>[number];

export type MyInvitation = z.output<typeof mySites>["invitations"][number];
export type Member = z.output<typeof team>["members"][number];
export type Invitation = z.output<typeof team>["invitations"][number];
export type ApiKey = z.output<typeof apiKeys>[number];

/** Unknown, not yours, and not for your role look the same on a page. */
function hideRefusal(error: unknown): never {
  if (error instanceof AppError && (error.code === "NOT_FOUND" || error.code === "FORBIDDEN")) notFound();
  throw error;
}

// cache(): the layout and the page of one request ask the same question once.
export const listSites = cache(() => readPage("list_my_sites", {}, mySites));
export const getSite = cache(
  (publicId: string): Promise<SiteSummary> => readPage("get_site", { p_public_id: publicId }, siteSummary).catch(hideRefusal),
);
/** The site, and the version of what its screen shows. A page reads its list after this, so that the list is never older than the version. */
export async function getVersionedSite(publicId: string, of: VersionTopic): Promise<SiteSummary & { version: string }> {
  const [site, { version }] = await Promise.all([
    getSite(publicId),
    readPage("site_version", { p_public_id: publicId, p_of: of }, siteVersion).catch(hideRefusal),
  ]);
  return { ...site, version };
}
export const getSiteDelivery = (publicId: string) => readPage("site_delivery", { p_public_id: publicId }, siteDelivery).catch(hideRefusal);
export const listMembers = (publicId: string) => readPage("list_site_members", { p_public_id: publicId }, team).catch(hideRefusal);
export const listApiKeys = (publicId: string) => readPage("list_site_api_keys", { p_public_id: publicId }, apiKeys).catch(hideRefusal);
export const readIngestStatus = (publicId: string) => readPage("ingest_status", { p_public_id: publicId }, ingestStatus).catch(hideRefusal);
export const readScriptStatus = cache((publicId: string) =>
  readPage("script_status", { p_public_id: publicId }, scriptStatus).catch(hideRefusal),
);
export const readConnectionState = (publicId: string) =>
  readPage("provider_connection", { p_public_id: publicId }, connectionState).catch(hideRefusal);
export const listFailedEvents = (publicId: string) =>
  readPage("list_failed_events", { p_public_id: publicId }, failedEvents).catch(hideRefusal);
