import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { personLimit } from "#lib/http/rate-limit.ts";
import { importRequest, importSales } from "#lib/seal/import-sales.ts";

/** POST /api/sites/:siteId/sales/import takes up to 100 lines of a file, to import them or to see what an import would do. */
export const POST = handler({
  guard: siteMember("operator"),
  limits: { after: personLimit("sales-import", 120) },
  bodyMaxBytes: 2_000_000,
  body: importRequest,
  run: ({ actor, body }) => importSales(actor.db, actor.siteId, body),
});
