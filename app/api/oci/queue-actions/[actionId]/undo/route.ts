import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { requestIdentity, serveOnce } from "#lib/http/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { queueUndoRequest, undoQueueAction } from "#lib/oci/queue/actions.ts";

/** POST /api/oci/queue-actions/:actionId/undo takes an action back where nothing happened to its rows since. */
export const POST = handler({
  guard: siteMember("operator"),
  params: z.object({ actionId: z.uuid() }),
  body: queueUndoRequest,
  run: async ({ actor, params, body, request, rawBody }) =>
    serveOnce(await undoQueueAction(actor.db, body.siteId, params.actionId, requestIdentity(request, rawBody))),
});
