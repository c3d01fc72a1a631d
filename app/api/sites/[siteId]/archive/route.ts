import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { setSiteArchived } from "#lib/tenancy/changes.ts";

/** POST /api/sites/:siteId/archive closes a site; its records stay. */
export const POST = handler({
  guard: siteMember("owner"),
  run: ({ actor }) => setSiteArchived(actor.db, actor.siteId, true),
});

/** DELETE /api/sites/:siteId/archive opens it again. */
export const DELETE = handler({
  guard: siteMember("owner"),
  run: ({ actor }) => setSiteArchived(actor.db, actor.siteId, false),
});
