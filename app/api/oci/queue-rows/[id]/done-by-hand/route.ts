import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { doneByHandRequest, finishByHand } from "#lib/oci/queue/row-deeds.ts";

/** POST /api/oci/queue-rows/:id/done-by-hand says that a person corrected a conversion in Google Ads. */
export const POST = handler({
  guard: siteMember("operator"),
  params: z.object({ id: z.uuid() }),
  body: doneByHandRequest,
  run: ({ actor, params, body }) => finishByHand(actor.db, actor.siteId, { id: params.id, valueCents: body.valueCents }),
});
