import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { salesCsv, salesFilter } from "#lib/seal/sales-list.ts";

/** GET /api/sites/:siteId/sales gives the filtered list of sales as CSV. */
export const GET = handler({
  guard: siteMember("viewer"),
  query: salesFilter,
  run: ({ actor, query }) => salesCsv(actor.db, actor.siteId, query),
});
