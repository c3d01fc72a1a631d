import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { billingOverview, invoice, invoiceSummaries } from "./billing-shapes.ts";

export const readBillingOverview = (db: SessionClient, publicId: string) =>
  callAsUser(db, "billing_overview", { p_public_id: publicId }, billingOverview);
export const readInvoices = (db: SessionClient, publicId: string) =>
  callAsUser(db, "list_invoices", { p_public_id: publicId }, invoiceSummaries);
export const readInvoice = (db: SessionClient, publicId: string, yearMonth: string) =>
  callAsUser(db, "get_invoice", { p_public_id: publicId, p_year_month: yearMonth }, invoice);
