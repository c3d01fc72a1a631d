import "server-only";
import { notFound } from "next/navigation";
import { readPage } from "#lib/auth/session.ts";
import { type ActivityFilter, activityPage } from "#lib/contracts/activity.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { type SalesFilter, salesPage } from "./sales-list.ts";

/** Somebody else's site, or an address that somebody made up, is a page that does not exist. */
function hideRefusal(error: unknown): never {
  if (error instanceof AppError && (error.code === "NOT_FOUND" || error.code === "VALIDATION_FAILED")) notFound();
  throw error;
}

export const listSales = (publicId: string, filter: SalesFilter) =>
  readPage("list_sales", { p_public_id: publicId, p_filter: filter }, salesPage).catch(hideRefusal);
export const listActivity = (publicId: string, filter: ActivityFilter) =>
  readPage("list_activity", { p_public_id: publicId, p_filter: filter }, activityPage).catch(hideRefusal);
