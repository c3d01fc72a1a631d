import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { sendAgain, sendAgainRequest } from "#lib/oci/queue/row-deeds.ts";

/** POST /api/oci/queue-rows/:id/send-again queues once more what Google rejected. */
export const POST = handler({
  guard: siteMember("operator"),
  params: z.object({ id: z.uuid() }),
  body: sendAgainRequest,
  run: ({ actor, params }) => sendAgain(actor.db, actor.siteId, params.id),
});
