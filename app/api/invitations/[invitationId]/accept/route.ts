import { z } from "zod";
import { signedIn } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { acceptInvitation } from "#lib/tenancy/changes.ts";

/** POST /api/invitations/:invitationId/accept joins the site one was invited to. */
export const POST = handler({
  guard: signedIn,
  params: z.object({ invitationId: z.uuid() }),
  run: ({ actor, params }) => acceptInvitation(actor.db, params.invitationId),
});
