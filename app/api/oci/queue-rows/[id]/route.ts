import { z } from "zod";
import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { readQueueRowStory } from "#lib/oci/control.ts";

/** GET /api/oci/queue-rows/:id tells all that is known of one conversion. */
export const GET = handler({
  guard: siteMember("viewer"),
  params: z.object({ id: z.uuid() }),
  run: ({ actor, params }) => readQueueRowStory(actor.db, actor.publicId, params.id),
});
