import { siteMember } from "#lib/guards/member.ts";
import { requestIdentity } from "#lib/http/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { inviteMember } from "#lib/tenancy/invite-member.ts";
import { memberInvite } from "#lib/tenancy/site-fields.ts";

/** POST /api/sites/:siteId/members invites an address and mails it a link to sign in. */
export const POST = handler({
  guard: siteMember("owner"),
  limits: {
    after: { name: "invite", requests: 20, windowSeconds: 600, key: ({ actor }) => actor.user.id, whenRedisIsDown: "fail-closed" },
  },
  body: memberInvite,
  run: ({ actor, body, request, rawBody }) =>
    inviteMember(actor.db, { siteId: actor.siteId, ...body, once: requestIdentity(request, rawBody) }),
});
