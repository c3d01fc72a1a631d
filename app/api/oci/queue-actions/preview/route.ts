import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { personLimit } from "#lib/http/rate-limit.ts";
import { previewQueueAction } from "#lib/oci/control-actions.ts";
import { queuePreviewRequest } from "#lib/oci/control-requests.ts";

/** POST /api/oci/queue-actions/preview says what an action on all that matches a filter would do, and freezes that set for 15 minutes. */
export const POST = handler({
  guard: siteMember("operator"),
  limits: { after: personLimit("queue-preview", 20) },
  body: queuePreviewRequest,
  run: ({ actor, body }) => previewQueueAction(actor.db, body),
});
