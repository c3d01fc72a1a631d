import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { skipCalls, skipCallsInput } from "#lib/tenancy/site-setup.ts";

/** PATCH /api/sites/:siteId/setup/calls says whether the site has a telephone system to set up. */
export const PATCH = handler({
  guard: siteMember("owner"),
  body: skipCallsInput,
  run: ({ actor, body }) => skipCalls(actor.db, actor.siteId, body.skipped),
});
