import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { vouchedCallersOf } from "#lib/seal/caller-hashes.ts";
import type { SiteId } from "#lib/site.ts";

/** Who a lead is, as an operator writes it down. SQL checks the role and reads the number. */

export const contactRequest = z.strictObject({
  /** Empty takes it away; left out it stays. */
  name: z.string().trim().max(80, "TOO_LONG").optional(),
  phone: z.string().trim().max(32, "TOO_LONG").optional(),
});
export const noteRequest = z.strictObject({ note: z.string().trim().min(1, "REQUIRED").max(500, "TOO_LONG") });

const done = z.object({ ok: z.literal(true) });

interface Described<Body> {
  siteId: SiteId;
  callId: string;
  body: Body;
}

/** The number is hashed with the vault's key here: by its hash sales and other leads of the person are found. */
export async function setLeadContact(db: SessionClient, { siteId, callId, body }: Described<z.output<typeof contactRequest>>) {
  const [callers] = body.phone ? await vouchedCallersOf(siteId, [{ phone: body.phone }]) : [];
  const contact = { ...body, ...(body.phone !== undefined && { caller: { ...callers?.[0] } }) };
  return callAsUser(db, "set_lead_contact", { p_public_id: siteId, p_call_id: callId, p_contact: contact }, done);
}

export const addLeadNote = (db: SessionClient, { siteId, callId, body }: Described<z.output<typeof noteRequest>>) =>
  callAsUser(db, "add_lead_note", { p_public_id: siteId, p_call_id: callId, p_note: body.note }, done);
