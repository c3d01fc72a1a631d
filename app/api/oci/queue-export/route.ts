import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { personLimit } from "#lib/http/rate-limit.ts";
import { queueExportQuery } from "#lib/oci/control-requests.ts";
import { queueCsv } from "#lib/oci/queue-export.ts";

/** GET /api/oci/queue-export gives every conversion that matches a filter as CSV. */
export const GET = handler({
  guard: siteMember("viewer"),
  limits: { after: personLimit("queue-export", 10) },
  query: queueExportQuery,
  run: ({ actor, query: { siteId, bom, ...filter } }) => queueCsv(actor.db, { publicId: siteId, filter, bom }),
});
