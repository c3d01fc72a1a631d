import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";

export const sendAgainRequest = z.strictObject({ siteId: z.string() });

const queued = z.object({ ok: z.literal(true), rowId: z.string() });

/** Queues a new row with the same order id. If Google took the first one after all, it still counts once. */
export const sendAgain = (db: SessionClient, publicId: string, id: string) =>
  callAsUser(db, "send_again", { p_public_id: publicId, p_id: id }, queued);
