import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { retentionInput, setRetention } from "#lib/privacy/retention.ts";

/** PATCH /api/sites/:siteId/privacy/retention shortens how long the site keeps who its leads were. */
export const PATCH = handler({
  guard: siteMember("owner"),
  body: retentionInput,
  run: ({ actor, body }) => setRetention(actor.db, actor.siteId, body),
});
