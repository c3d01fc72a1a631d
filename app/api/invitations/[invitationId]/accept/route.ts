import { z } from "zod";
import { handler } from "#lib/http/handler.ts";
import { signedIn } from "#lib/http/member-guards.ts";
import { acceptInvitation } from "#lib/tenancy/changes.ts";

/** POST /api/invitations/:invitationId/accept joins the site one was invited to. */
export const POST = handler({
  guard: signedIn,
  params: z.object({ invitationId: z.uuid() }),
  run: ({ actor, params }) => acceptInvitation(actor.db, params.invitationId),
});
