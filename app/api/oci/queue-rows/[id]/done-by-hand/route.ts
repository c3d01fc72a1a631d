import { z } from "zod";
import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { doneByHandRequest, finishByHand } from "#lib/oci/done-by-hand.ts";

/** POST /api/oci/queue-rows/:id/done-by-hand says that a person corrected a conversion in Google Ads. */
export const POST = handler({
  guard: siteMember("operator"),
  params: z.object({ id: z.uuid() }),
  body: doneByHandRequest,
  run: ({ actor, params, body }) => finishByHand(actor.db, actor.publicId, { id: params.id, valueCents: body.valueCents }),
});
