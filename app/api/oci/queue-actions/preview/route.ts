import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { personLimit } from "#lib/http/rate-limit.ts";
import { previewQueueAction, queuePreviewRequest } from "#lib/oci/queue/actions.ts";

/** POST /api/oci/queue-actions/preview says what an action on all that matches a filter would do, and freezes that set for 15 minutes. */
export const POST = handler({
  guard: siteMember("operator"),
  limits: { after: personLimit("queue-preview", 20) },
  body: queuePreviewRequest,
  run: ({ actor, body }) => previewQueueAction(actor.db, body),
});
