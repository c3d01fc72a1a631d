import "server-only";
import { notFound } from "next/navigation";
import { cache } from "react";
import { readPage } from "#lib/auth/session.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { type DeskFilter, filterForReader } from "./desk-filter.ts";
import { amountPresets, deskFigures, deskPage, leadDetail, openLeads } from "./desk-shapes.ts";

/** The desk's reads as its page makes them, before anything is shown. */

function hideRefusal(error: unknown): never {
  if (error instanceof AppError && (error.code === "NOT_FOUND" || error.code === "VALIDATION_FAILED")) notFound();
  throw error;
}

/** A link to a lead that is not here opens the desk without it. */
function noneWhenMissing(error: unknown): null {
  if (error instanceof AppError && error.code === "NOT_FOUND") return null;
  throw error;
}

export const getDeskPage = (publicId: string, filter: DeskFilter) =>
  readPage("desk_leads", { p_public_id: publicId, p_filter: filterForReader(filter) }, deskPage).catch(hideRefusal);
export const getDeskFigures = (publicId: string) => readPage("desk_figures", { p_public_id: publicId }, deskFigures).catch(hideRefusal);
export const getAmountPresets = (publicId: string) =>
  readPage("amount_presets", { p_public_id: publicId }, amountPresets).catch(hideRefusal);
export const findLead = (publicId: string, callId: string) =>
  readPage("desk_lead", { p_public_id: publicId, p_call_id: callId }, leadDetail).catch(noneWhenMissing);
export const countOpenLeads = cache(() => readPage("open_leads", {}, openLeads));
