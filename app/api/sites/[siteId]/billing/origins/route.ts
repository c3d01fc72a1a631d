import { z } from "zod";
import { originsCsv, readUsageOrigins } from "#lib/billing/usage-origins.ts";
import { csvResponse } from "#lib/csv/csv-response.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";

/** GET /api/sites/:siteId/billing/origins says from which address ranges and browsers a day's units came, as JSON or CSV. */
export const GET = handler({
  guard: siteMember("operator"),
  query: z.object({ day: z.iso.date("REQUIRED").optional(), format: z.enum(["json", "csv"]).default("json") }),
  run: async ({ actor, query }) => {
    const found = await readUsageOrigins(actor.db, actor.siteId, query.day);
    return query.format === "csv" ? csvResponse(originsCsv(found), `origins-${found.day}.csv`) : found;
  },
});
