import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import type { SiteId } from "#lib/site.ts";
import { billingOverview, invoice, invoiceSummaries } from "./billing-shapes.ts";

export const readBillingOverview = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "billing_overview", { p_public_id: siteId }, billingOverview);
export const readInvoices = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "list_invoices", { p_public_id: siteId }, invoiceSummaries);
export const readInvoice = (db: SessionClient, siteId: SiteId, yearMonth: string) =>
  callAsUser(db, "get_invoice", { p_public_id: siteId, p_year_month: yearMonth }, invoice);
