import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { requestIdentity } from "#lib/http/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { withdrawInvitation } from "#lib/tenancy/changes.ts";

/** DELETE /api/sites/:siteId/invitations/:invitationId takes an open invitation back. */
export const DELETE = handler({
  guard: siteMember("owner"),
  params: z.object({ invitationId: z.uuid() }),
  run: ({ actor, params, request, rawBody }) =>
    withdrawInvitation(actor.db, { siteId: actor.siteId, ...params, once: requestIdentity(request, rawBody) }),
});
