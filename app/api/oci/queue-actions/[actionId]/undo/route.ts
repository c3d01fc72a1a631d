import { z } from "zod";
import { requestIdentity, serveOnce } from "#lib/contracts/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { undoQueueAction } from "#lib/oci/control-actions.ts";
import { queueUndoRequest } from "#lib/oci/control-requests.ts";

/** POST /api/oci/queue-actions/:actionId/undo takes an action back where nothing happened to its rows since. */
export const POST = handler({
  guard: siteMember("operator"),
  params: z.object({ actionId: z.uuid() }),
  body: queueUndoRequest,
  run: async ({ actor, params, body, request, rawBody }) =>
    serveOnce(await undoQueueAction(actor.db, body.siteId, params.actionId, requestIdentity(request, rawBody))),
});
