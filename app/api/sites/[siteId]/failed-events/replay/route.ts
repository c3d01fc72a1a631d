import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { replayFailedEvents } from "#lib/tenancy/changes.ts";

/** POST /api/sites/:siteId/failed-events/replay gives events that could not be stored another chance. It bills nothing. */
export const POST = handler({
  guard: siteMember("operator"),
  body: z.object({ ids: z.array(z.uuid()).min(1).max(200) }),
  run: ({ actor, body }) => replayFailedEvents(actor.db, actor.siteId, body.ids),
});
