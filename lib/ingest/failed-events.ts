import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import type { SiteId } from "#lib/site.ts";

const ingestStatus = z.object({ lastEventAt: z.string().nullable(), failed: z.number() });
const failedEvents = z.array(z.object({ id: z.string(), receivedAt: z.string(), attempts: z.number(), reason: z.string() }));
export type FailedEvent = z.output<typeof failedEvents>[number];

/** When the last event came, and how many the worker gave up on. */
export const readIngestStatus = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "ingest_status", { p_public_id: siteId }, ingestStatus);
export const readFailedEvents = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "list_failed_events", { p_public_id: siteId }, failedEvents);
