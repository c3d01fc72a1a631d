import { z } from "zod";
import { countedEventsCsv, readCountedEvents } from "#lib/billing/counted-events.ts";
import { yearMonth } from "#lib/billing/year-month.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";

const query = z.object({
  month: yearMonth.optional(),
  cursor: z.string().max(120).optional(),
  limit: z.coerce.number().int().min(1).max(500).optional(),
  format: z.enum(["json", "csv"]).default("json"),
});

/** GET /api/sites/:siteId/billing/counted-events lists every billed event of a month: a page of JSON, or all of it as CSV. */
export const GET = handler({
  guard: siteMember("viewer"),
  query,
  run: ({ actor, query: { format, ...page } }) =>
    format === "csv" ? countedEventsCsv(actor.db, actor.siteId, page.month) : readCountedEvents(actor.db, actor.siteId, page),
});
