import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { queueChartsQuery, readQueueCharts } from "#lib/oci/queue/charts.ts";

/** GET /api/oci/queue-charts says what happened to a site's conversions over time. */
export const GET = handler({
  guard: siteMember("viewer"),
  query: queueChartsQuery,
  run: ({ actor, query }) => readQueueCharts(actor.db, query.siteId, query.range),
});
