import { z } from "zod";
import { invoice } from "#lib/billing/billing-shapes.ts";
import { csvResponse } from "#lib/billing/csv-response.ts";
import { invoiceCsv } from "#lib/billing/invoice-csv.ts";
import { yearMonth } from "#lib/billing/year-month.ts";
import { callAsUser } from "#lib/db/session-client.ts";
import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";

/** GET /api/sites/:siteId/billing/invoices/:yearMonth is an invoice with its proof as JSON, or its lines as CSV. */
export const GET = handler({
  guard: siteMember("viewer"),
  params: z.object({ siteId: z.string(), yearMonth }),
  query: z.object({ format: z.enum(["json", "csv"]).default("json") }),
  run: async ({ actor, params, query }) => {
    const args = { p_public_id: actor.publicId, p_year_month: params.yearMonth };
    const found = await callAsUser(actor.db, "get_invoice", args, invoice);
    return query.format === "csv" ? csvResponse(invoiceCsv(found), `invoice-${found.yearMonth}.csv`) : found;
  },
});
