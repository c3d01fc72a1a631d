import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { createApiKey } from "#lib/tenancy/changes.ts";
import { apiKeyInput } from "#lib/tenancy/site-fields.ts";

/** POST /api/sites/:siteId/api-keys makes a key and answers it this one time. */
export const POST = handler({
  guard: siteMember("owner"),
  body: apiKeyInput,
  run: ({ actor, body }) => createApiKey(actor.db, actor.siteId, body),
});
