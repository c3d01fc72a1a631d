import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { readSiteVersion, siteVersionQuery } from "#lib/tenancy/site-version.ts";

/** GET /api/sites/:siteId/version answers a version that differs when anything that a screen shows has changed. */
export const GET = handler({
  guard: siteMember("viewer"),
  query: siteVersionQuery,
  run: ({ actor, query }) => readSiteVersion(actor.db, actor.siteId, query.of),
});
