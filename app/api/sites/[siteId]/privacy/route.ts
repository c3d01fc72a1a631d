import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { setSitePrivacy } from "#lib/tenancy/changes.ts";
import { sitePrivacy } from "#lib/tenancy/site-fields.ts";

/** PATCH /api/sites/:siteId/privacy sets how visitors' wishes are honoured. */
export const PATCH = handler({
  guard: siteMember("owner"),
  body: sitePrivacy,
  run: ({ actor, body }) => setSitePrivacy(actor.db, actor.siteId, body),
});
