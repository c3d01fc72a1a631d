import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { updateSite } from "#lib/tenancy/changes.ts";
import { siteUpdate } from "#lib/tenancy/site-fields.ts";

/** PATCH /api/sites/:siteId changes name, domains, currency (with the average order in it), time zone and language. */
export const PATCH = handler({
  guard: siteMember("owner"),
  body: siteUpdate,
  run: ({ actor, body }) => updateSite(actor.db, actor.siteId, body),
});
