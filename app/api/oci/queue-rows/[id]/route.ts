import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { readQueueRowStory } from "#lib/oci/queue/row-story.ts";

/** GET /api/oci/queue-rows/:id gives everything that is known of one conversion. */
export const GET = handler({
  guard: siteMember("viewer"),
  params: z.object({ id: z.uuid() }),
  run: ({ actor, params }) => readQueueRowStory(actor.db, actor.siteId, params.id),
});
