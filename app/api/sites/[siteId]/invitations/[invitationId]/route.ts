import { z } from "zod";
import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { withdrawInvitation } from "#lib/tenancy/changes.ts";

/** DELETE /api/sites/:siteId/invitations/:invitationId takes an open invitation back. */
export const DELETE = handler({
  guard: siteMember("owner"),
  params: z.object({ invitationId: z.uuid() }),
  run: ({ actor, params }) => withdrawInvitation(actor.db, actor.publicId, params.invitationId),
});
