import { requestIdentity, serveOnce } from "#lib/contracts/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { readQueueActions } from "#lib/oci/control.ts";
import { actOnQueue } from "#lib/oci/control-actions.ts";
import { queueActionRequest } from "#lib/oci/control-requests.ts";

/** GET /api/oci/queue-actions lists what operators did with a site's conversions. */
export const GET = handler({ guard: siteMember("viewer"), run: ({ actor }) => readQueueActions(actor.db, actor.publicId) });

/** POST /api/oci/queue-actions retries, resets or gives up conversions: those named, or those a preview froze. */
export const POST = handler({
  guard: siteMember("operator"),
  body: queueActionRequest,
  run: async ({ actor, body, request, rawBody }) => serveOnce(await actOnQueue(actor.db, body, requestIdentity(request, rawBody))),
});
