import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { requestIdentity, serveOnce } from "#lib/http/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { undoCall, undoRequest } from "#lib/seal/desk-changes.ts";

/** POST /api/sites/:siteId/calls/:callId/undo takes back the last move within ten minutes. */
export const POST = handler({
  guard: siteMember("operator"),
  params: z.object({ callId: z.uuid() }),
  body: undoRequest,
  run: async ({ actor, params, body, request, rawBody }) =>
    serveOnce(await undoCall(actor.db, { siteId: actor.siteId, id: params.callId, body, once: requestIdentity(request, rawBody) })),
});
