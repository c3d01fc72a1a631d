import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { type DeskFilter, filterForReader } from "./desk-filter.ts";
import { deskPage, leadDetail } from "./desk-shapes.ts";

/** The desk's reads as its routes make them, while the page is open. */

interface Ask {
  filter: DeskFilter;
  cursor?: string | undefined;
  ids?: string[] | undefined;
}

export const readLeads = (db: SessionClient, publicId: string, { filter, cursor, ids }: Ask) =>
  callAsUser(
    db,
    "desk_leads",
    { p_public_id: publicId, p_filter: { ...filterForReader(filter), ...(cursor && { cursor }), ...(ids && { ids }) } },
    deskPage,
  );

export const readLead = (db: SessionClient, publicId: string, callId: string) =>
  callAsUser(db, "desk_lead", { p_public_id: publicId, p_call_id: callId }, leadDetail);
