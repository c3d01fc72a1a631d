import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { requestIdentity, serveOnce } from "#lib/http/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { changeCall, stageRequest } from "#lib/seal/desk-changes.ts";

/** POST /api/sites/:siteId/calls/:callId/stage moves a lead: qualified, meeting, junk, cancelled or back. */
export const POST = handler({
  guard: siteMember("operator"),
  params: z.object({ callId: z.uuid() }),
  body: stageRequest,
  run: async ({ actor, params, body, request, rawBody }) =>
    serveOnce(await changeCall(actor.db, { siteId: actor.siteId, id: params.callId, body, once: requestIdentity(request, rawBody) })),
});
