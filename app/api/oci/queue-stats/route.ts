import { signedIn } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { queueStatsQuery, readQueueStats } from "#lib/oci/queue/stats.ts";

/** GET /api/oci/queue-stats gives the figures of a site's queue, or with scope=multi of all the reader's sites. */
export const GET = handler({
  guard: signedIn, // the site's role is checked by the function; all sites of a person need none
  query: queueStatsQuery,
  run: ({ actor, query }) => readQueueStats(actor.db, query.scope === "multi" ? undefined : query.siteId),
});
