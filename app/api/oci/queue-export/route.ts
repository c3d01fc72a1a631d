import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { personLimit } from "#lib/http/rate-limit.ts";
import { queueCsv, queueExportQuery } from "#lib/oci/queue/rows.ts";

/** GET /api/oci/queue-export gives every conversion that matches a filter as CSV. */
export const GET = handler({
  guard: siteMember("viewer"),
  limits: { after: personLimit("queue-export", 10) },
  query: queueExportQuery,
  run: ({ actor, query: { siteId, bom, ...filter } }) => queueCsv(actor.db, siteId, { filter, bom }),
});
