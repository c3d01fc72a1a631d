import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { requestIdentity, serveOnce } from "#lib/http/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { sealCall, sealRequest } from "#lib/seal/desk-changes.ts";

/** POST /api/sites/:siteId/calls/:callId/seal freezes a lead's outcome and queues it for delivery. */
export const POST = handler({
  guard: siteMember("operator"),
  params: z.object({ callId: z.uuid() }),
  body: sealRequest,
  run: async ({ actor, params, body, request, rawBody }) =>
    serveOnce(await sealCall(actor.db, { siteId: actor.siteId, id: params.callId, body, once: requestIdentity(request, rawBody) })),
});
