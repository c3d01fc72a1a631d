import { z } from "zod";
import { signedIn } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { declineInvitation } from "#lib/tenancy/changes.ts";

/** POST /api/invitations/:invitationId/decline says no to an invitation. */
export const POST = handler({
  guard: signedIn,
  params: z.object({ invitationId: z.uuid() }),
  run: ({ actor, params }) => declineInvitation(actor.db, params.invitationId),
});
