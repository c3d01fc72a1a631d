import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";

/** On a site whose script sends, a person corrects a conversion in Google Ads and says here what was entered there. */
export const doneByHandRequest = z.strictObject({ siteId: z.string(), valueCents: z.int().min(0) });

const finished = z.object({ ok: z.literal(true), proof_id: z.string().optional() });

/** SQL refuses a value that is not the row's by now: the sale changed while the person was at Google's. */
export const finishByHand = (db: SessionClient, publicId: string, done: { id: string; valueCents: number }) =>
  callAsUser(db, "complete_adjustment_by_hand", { p_public_id: publicId, p_done: done }, finished);
