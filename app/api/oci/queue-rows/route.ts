import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { queueRowsQuery, readQueueRows } from "#lib/oci/queue/rows.ts";

/** GET /api/oci/queue-rows lists a page of a site's conversions, by any filter. */
export const GET = handler({
  guard: siteMember("viewer"),
  query: queueRowsQuery,
  run: ({ actor, query: { siteId, cursor, limit, ...filter } }) => readQueueRows(actor.db, siteId, { filter, cursor, limit }),
});
