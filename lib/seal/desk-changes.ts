import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { onceAnswer, type RequestIdentity } from "#lib/http/answer-once.ts";
import type { SiteId } from "#lib/site.ts";

/** What an operator does with a lead. Each is one SQL function; it checks the role, decides, and answers once per key. */

const expectedVersion = z.int().positive();
const amountCents = z.int();
const note = z.string().trim().max(500);

export const sealRequest = z.strictObject({
  amountCents: amountCents.optional(),
  currency: z.string().optional(),
  note: note.optional(),
  expectedVersion: expectedVersion.optional(),
  /** The operator has seen that another call of the visit is sealed, and says that this is another sale. */
  separateSale: z.boolean().optional(),
});
export const stageRequest = z.strictObject({
  to: z.enum(["intent", "qualified", "meeting", "junk", "cancelled"]),
  reason: note.optional(),
  expectedVersion: expectedVersion.optional(),
});
export const undoRequest = z.strictObject({
  /** The step that the button names: another one since is not undone in its place. */
  proofId: z.uuid().optional(),
  expectedVersion: expectedVersion.optional(),
});
export const correctionRequest = z.strictObject({ amountCents, reason: note.optional(), expectedVersion: expectedVersion.optional() });
export const cancelRequest = z.strictObject({ reason: note.optional(), expectedVersion: expectedVersion.optional() });
export const confirmRequest = z.strictObject({ separateSale: z.boolean().optional(), expectedVersion: expectedVersion.optional() });

interface Change<Body> {
  siteId: SiteId;
  id: string;
  body: Body;
  once: RequestIdentity;
}

export const sealCall = (db: SessionClient, { siteId, id, body, once }: Change<z.output<typeof sealRequest>>) =>
  callAsUser(db, "seal_call", { p_public_id: siteId, p_seal: { ...body, id }, ...once }, onceAnswer);

export const changeCall = (db: SessionClient, { siteId, id, body, once }: Change<z.output<typeof stageRequest>>) =>
  callAsUser(db, "change_call", { p_public_id: siteId, p_change: { ...body, id }, ...once }, onceAnswer);

export const undoCall = (db: SessionClient, { siteId, id, body, once }: Change<z.output<typeof undoRequest>>) =>
  callAsUser(db, "undo_call", { p_public_id: siteId, p_undo: { ...body, id }, ...once }, onceAnswer);

export const undoSale = (db: SessionClient, { siteId, id, body, once }: Change<z.output<typeof undoRequest>>) =>
  callAsUser(db, "undo_sale", { p_public_id: siteId, p_undo: { ...body, id }, ...once }, onceAnswer);

export const correctSale = (db: SessionClient, { siteId, id, body, once }: Change<z.output<typeof correctionRequest>>) =>
  callAsUser(db, "correct_sale", { p_public_id: siteId, p_correction: { ...body, id }, ...once }, onceAnswer);

export const cancelSale = (db: SessionClient, { siteId, id, body, once }: Change<z.output<typeof cancelRequest>>) =>
  callAsUser(db, "cancel_sale", { p_public_id: siteId, p_cancel: { ...body, id }, ...once }, onceAnswer);

export const confirmSale = (db: SessionClient, { siteId, id, body, once }: Change<z.output<typeof confirmRequest>>) =>
  callAsUser(db, "confirm_sale", { p_public_id: siteId, p_confirm: { ...body, id }, ...once }, onceAnswer);
