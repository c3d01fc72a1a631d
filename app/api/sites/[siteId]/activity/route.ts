import { activityCsv, activityFilter } from "#lib/contracts/activity.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";

/** GET /api/sites/:siteId/activity gives the filtered activity log as CSV. */
export const GET = handler({
  guard: siteMember("viewer"),
  query: activityFilter,
  run: ({ actor, query }) => activityCsv(actor.db, actor.siteId, query),
});
