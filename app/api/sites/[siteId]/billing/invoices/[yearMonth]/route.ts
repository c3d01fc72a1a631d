import { z } from "zod";
import { invoiceCsv } from "#lib/billing/invoice-csv.ts";
import { readInvoice } from "#lib/billing/invoices.ts";
import { yearMonth } from "#lib/billing/year-month.ts";
import { csvResponse } from "#lib/csv/csv-response.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { siteIdShape } from "#lib/site.ts";

/** GET /api/sites/:siteId/billing/invoices/:yearMonth is an invoice with its proof as JSON, or its lines as CSV. */
export const GET = handler({
  guard: siteMember("viewer"),
  params: z.object({ siteId: siteIdShape, yearMonth }),
  query: z.object({ format: z.enum(["json", "csv"]).default("json") }),
  run: async ({ actor, params, query }) => {
    const found = await readInvoice(actor.db, actor.siteId, params.yearMonth);
    return query.format === "csv" ? csvResponse(invoiceCsv(found), `invoice-${found.yearMonth}.csv`) : found;
  },
});
