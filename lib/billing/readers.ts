import "server-only";
import { notFound } from "next/navigation";
import { readPage } from "#lib/auth/session.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { billingOverview, countedEvents, invoice, invoiceSummaries } from "./billing-shapes.ts";

/** A month without an invoice, or an address that somebody made up, is a page that does not exist. */
function hideRefusal(error: unknown): never {
  if (error instanceof AppError && (error.code === "NOT_FOUND" || error.code === "VALIDATION_FAILED")) notFound();
  throw error;
}

export const getBillingOverview = (publicId: string) =>
  readPage("billing_overview", { p_public_id: publicId }, billingOverview).catch(hideRefusal);
export const listInvoices = (publicId: string) => readPage("list_invoices", { p_public_id: publicId }, invoiceSummaries).catch(hideRefusal);
export const getInvoice = (publicId: string, yearMonth: string) =>
  readPage("get_invoice", { p_public_id: publicId, p_year_month: yearMonth }, invoice).catch(hideRefusal);

export const listCountedEvents = (publicId: string, page: { month?: string; cursor?: string }) =>
  readPage(
    "list_counted_events",
    { p_public_id: publicId, ...(page.month && { p_year_month: page.month }), ...(page.cursor && { p_cursor: page.cursor }) },
    countedEvents,
  ).catch(hideRefusal);
