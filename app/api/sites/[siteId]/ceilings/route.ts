import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { setSiteCeilings } from "#lib/tenancy/changes.ts";
import { ceilingsInput } from "#lib/tenancy/site-ceilings.ts";

/** PATCH /api/sites/:siteId/ceilings sets how many events the site takes a minute and a day; null follows what it usually sends. */
export const PATCH = handler({
  guard: siteMember("owner"),
  body: ceilingsInput,
  run: ({ actor, body }) => setSiteCeilings(actor.db, actor.siteId, body),
});
