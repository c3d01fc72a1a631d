import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { readQueueCharts } from "#lib/oci/control.ts";
import { queueChartsQuery } from "#lib/oci/control-requests.ts";

/** GET /api/oci/queue-charts says what happened to a site's conversions over time. */
export const GET = handler({
  guard: siteMember("viewer"),
  query: queueChartsQuery,
  run: ({ actor, query }) => readQueueCharts(actor.db, query.siteId, query.range),
});
