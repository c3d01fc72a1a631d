import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import type { SiteId } from "#lib/site.ts";
import { billingOverview, invoice, invoiceSummaries, type leadShare } from "./billing-shapes.ts";

export const readBillingOverview = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "billing_overview", { p_public_id: siteId }, billingOverview);
export const readInvoices = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "list_invoices", { p_public_id: siteId }, invoiceSummaries);
export const readInvoice = (db: SessionClient, siteId: SiteId, yearMonth: string) =>
  callAsUser(db, "get_invoice", { p_public_id: siteId, p_year_month: yearMonth }, invoice);

/** From the next event on; SQL checks that an owner asks. */
export const setLeadShare = (db: SessionClient, siteId: SiteId, { leadSharePercent }: z.output<typeof leadShare>) =>
  callAsUser(db, "set_lead_share", { p_public_id: siteId, p_percent: leadSharePercent }, z.object({ ok: z.literal(true) }));
