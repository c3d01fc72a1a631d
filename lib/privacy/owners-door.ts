import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { callersOf } from "#lib/seal/caller-hashes.ts";
import type { SiteId } from "#lib/site.ts";
import { eraseStep, erasureReceipt, exportPage, type PersonDoor, personPreview } from "./person.ts";

/** People of a site as its owner reaches them. SQL checks the role. */
export function ownersDoor(db: SessionClient, siteId: SiteId): PersonDoor {
  const of = (person: object) => ({ p_public_id: siteId, p_person: { ...person } });
  return {
    siteId,
    callerHashes: async (numbers) => (await callersOf(siteId, numbers)).flat().map(({ hash }) => hash),
    preview: (person) => callAsUser(db, "preview_erasure", of(person), personPreview),
    erase: (person, receiptId) =>
      callAsUser(db, "erase_person", { ...of(person), ...(receiptId !== null && { p_receipt_id: receiptId }) }, eraseStep),
    export: (person, after) => callAsUser(db, "export_person", { ...of(person), ...(after !== null && { p_after: after }) }, exportPage),
  };
}

export const readErasures = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "list_erasures", { p_public_id: siteId }, z.array(erasureReceipt));
