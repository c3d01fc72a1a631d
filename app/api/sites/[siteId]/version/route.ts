import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { readSiteVersion, siteVersionQuery } from "#lib/tenancy/site-version.ts";

/** GET /api/sites/:siteId/version tells whether anything that a screen shows has changed. */
export const GET = handler({
  guard: siteMember("viewer"),
  query: siteVersionQuery,
  run: ({ actor, query }) => readSiteVersion(actor.db, actor.siteId, query.of),
});
