import { siteMember } from "#lib/guards/member.ts";
import { requestIdentity, serveOnce } from "#lib/http/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { actOnQueue, queueActionRequest, readQueueActions } from "#lib/oci/queue/actions.ts";

/** GET /api/oci/queue-actions lists what operators did with a site's conversions. */
export const GET = handler({ guard: siteMember("viewer"), run: ({ actor }) => readQueueActions(actor.db, actor.siteId) });

/** POST /api/oci/queue-actions retries, resets or gives up conversions: those named, or those a preview froze. */
export const POST = handler({
  guard: siteMember("operator"),
  body: queueActionRequest,
  run: async ({ actor, body, request, rawBody }) => serveOnce(await actOnQueue(actor.db, body, requestIdentity(request, rawBody))),
});
