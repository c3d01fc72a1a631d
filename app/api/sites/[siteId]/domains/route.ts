import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { addSiteDomain } from "#lib/tenancy/changes.ts";
import { siteDomain } from "#lib/tenancy/site-fields.ts";

/** POST /api/sites/:siteId/domains adds one domain whose pages may send events. */
export const POST = handler({
  guard: siteMember("owner"),
  body: siteDomain,
  run: ({ actor, body }) => addSiteDomain(actor.db, actor.siteId, body.domain),
});
