import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { personLimit } from "#lib/http/rate-limit.ts";
import { importRequest, importSales } from "#lib/seal/import-sales.ts";

/** POST /api/sites/:siteId/sales/import takes lines of a file: up to 200, or 2,000 to see what they would do. */
export const POST = handler({
  guard: siteMember("operator"),
  limits: { after: personLimit("sales-import", 30) },
  bodyMaxBytes: 2_000_000,
  body: importRequest,
  run: ({ actor, body }) => importSales(actor.db, actor.publicId, body),
});
