import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { AppError } from "#lib/platform/app-error.ts";
import type { SiteId } from "#lib/site.ts";
import { type DeskFilter, filterForReader } from "./desk-filter.ts";
import { amountPresets, deskFigures, deskPage, leadDetail, openLeads } from "./desk-shapes.ts";

/** What the Today desk reads, for its page and for its routes. */

interface LeadsAsked {
  cursor?: string | undefined;
  /** These leads, whatever the filter. */
  ids?: string[] | undefined;
}

export const readDeskPage = (db: SessionClient, siteId: SiteId, filter: DeskFilter, { cursor, ids }: LeadsAsked = {}) =>
  callAsUser(
    db,
    "desk_leads",
    { p_public_id: siteId, p_filter: { ...filterForReader(filter), ...(cursor && { cursor }), ...(ids && { ids }) } },
    deskPage,
  );

export const readLead = (db: SessionClient, siteId: SiteId, callId: string) =>
  callAsUser(db, "desk_lead", { p_public_id: siteId, p_call_id: callId }, leadDetail);

/** A link to a lead that is not here opens the desk without it. */
export const findLead = (db: SessionClient, siteId: SiteId, callId: string) =>
  readLead(db, siteId, callId).catch((error: unknown) => {
    if (error instanceof AppError && error.code === "NOT_FOUND") return null;
    throw error;
  });

/** Today's figures, and the chart's days with as many before them. */
export const readFigures = (db: SessionClient, siteId: SiteId, days: number) =>
  callAsUser(db, "desk_figures", { p_public_id: siteId, p_days: days }, deskFigures);
export const readAmountPresets = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "amount_presets", { p_public_id: siteId }, amountPresets);
export const readOpenLeads = (db: SessionClient) => callAsUser(db, "open_leads", {}, openLeads);
