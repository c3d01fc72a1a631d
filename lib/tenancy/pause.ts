import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { boundedText } from "#lib/platform/bounded-text.ts";
import type { SiteId } from "#lib/site.ts";
import { pause } from "./site-fields.ts";

/** An owner's pause: nothing is handed out for sending before its end. SQL checks that it ends soon enough. */

export const pauseQuery = z.object({ until: z.iso.datetime({ offset: true, error: "REQUIRED" }) });
export const pauseInput = pauseQuery.extend({ reason: boundedText(200) });

const pausePreview = z.object({
  waiting: z.number(),
  inFlight: z.number(),
  /** Rows that Google no longer takes when the pause ends; counted up to 10,000. */
  expiring: z.number(),
  viewsExpire: z.boolean(),
});
export type PausePreview = z.output<typeof pausePreview>;

const answer = z.object({ ok: z.literal(true), pause: pause.nullable() });

export const previewPause = (db: SessionClient, siteId: SiteId, until: string) =>
  callAsUser(db, "preview_pause", { p_public_id: siteId, p_until: until }, pausePreview);

export const pauseSending = (db: SessionClient, siteId: SiteId, { until, reason }: z.output<typeof pauseInput>) =>
  callAsUser(db, "pause_sending", { p_public_id: siteId, p_until: until, p_reason: reason }, answer);

export const resumeSending = (db: SessionClient, siteId: SiteId) => callAsUser(db, "pause_sending", { p_public_id: siteId }, answer);
