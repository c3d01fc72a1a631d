import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { type SiteId, siteIdShape } from "#lib/site.ts";

/** What an operator does with one row by name: send it again, or say that its correction was made in Google Ads. */

export const sendAgainRequest = z.strictObject({ siteId: siteIdShape });

const queued = z.object({ ok: z.literal(true), rowId: z.string() });

/** Queues a new row with the same order id. If Google took the first one after all, it still counts once. */
export const sendAgain = (db: SessionClient, siteId: SiteId, id: string) =>
  callAsUser(db, "send_again", { p_public_id: siteId, p_id: id }, queued);

/** On a site whose script sends, a person corrects a conversion in Google Ads and says here what was entered there. */
export const doneByHandRequest = z.strictObject({ siteId: siteIdShape, valueCents: z.int().min(0) });

const finished = z.object({ ok: z.literal(true), proof_id: z.string().optional() });

/** SQL refuses a value that is no longer the row's: the sale changed while the person was in Google Ads. */
export const finishByHand = (db: SessionClient, siteId: SiteId, done: { id: string; valueCents: number }) =>
  callAsUser(db, "complete_adjustment_by_hand", { p_public_id: siteId, p_done: done }, finished);
