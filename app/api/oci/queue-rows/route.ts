import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { readQueueRows } from "#lib/oci/control.ts";
import { queueRowsQuery } from "#lib/oci/control-requests.ts";

/** GET /api/oci/queue-rows lists a page of a site's conversions, by any filter. */
export const GET = handler({
  guard: siteMember("viewer"),
  query: queueRowsQuery,
  run: ({ actor, query: { siteId, cursor, limit, ...filter } }) => readQueueRows(actor.db, siteId, { filter, cursor, limit }),
});
