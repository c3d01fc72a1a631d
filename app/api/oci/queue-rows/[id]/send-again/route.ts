import { z } from "zod";
import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { sendAgain, sendAgainRequest } from "#lib/oci/send-again.ts";

/** POST /api/oci/queue-rows/:id/send-again queues once more what Google rejected. */
export const POST = handler({
  guard: siteMember("operator"),
  params: z.object({ id: z.uuid() }),
  body: sendAgainRequest,
  run: ({ actor, params }) => sendAgain(actor.db, actor.publicId, params.id),
});
