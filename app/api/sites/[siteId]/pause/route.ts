import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { pauseInput, pauseQuery, pauseSending, previewPause, resumeSending } from "#lib/tenancy/pause.ts";

/** GET /api/sites/:siteId/pause?until= says what a pause until then would mean for what waits. */
export const GET = handler({
  guard: siteMember("viewer"),
  query: pauseQuery,
  run: ({ actor, query }) => previewPause(actor.db, actor.siteId, query.until),
});

/** POST /api/sites/:siteId/pause hands nothing out until then. */
export const POST = handler({
  guard: siteMember("owner"),
  body: pauseInput,
  run: ({ actor, body }) => pauseSending(actor.db, actor.siteId, body),
});

/** DELETE /api/sites/:siteId/pause goes on now. */
export const DELETE = handler({
  guard: siteMember("owner"),
  run: ({ actor }) => resumeSending(actor.db, actor.siteId),
});
