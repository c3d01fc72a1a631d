import { z } from "zod";
import { requestIdentity } from "#lib/contracts/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { withdrawInvitation } from "#lib/tenancy/changes.ts";

/** DELETE /api/sites/:siteId/invitations/:invitationId takes an open invitation back. */
export const DELETE = handler({
  guard: siteMember("owner"),
  params: z.object({ invitationId: z.uuid() }),
  run: ({ actor, params, request, rawBody }) =>
    withdrawInvitation(actor.db, { publicId: actor.publicId, ...params, once: requestIdentity(request, rawBody) }),
});
