import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { requestIdentity } from "#lib/http/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { changeMemberRole, removeMember } from "#lib/tenancy/changes.ts";
import { memberRole } from "#lib/tenancy/site-fields.ts";

const params = z.object({ userId: z.uuid() });

/** PATCH /api/sites/:siteId/members/:userId changes a role; the last owner keeps theirs. */
export const PATCH = handler({
  guard: siteMember("owner"),
  params,
  body: memberRole,
  run: ({ actor, params, body, request, rawBody }) =>
    changeMemberRole(actor.db, { siteId: actor.siteId, ...params, ...body, once: requestIdentity(request, rawBody) }),
});

/** DELETE /api/sites/:siteId/members/:userId removes a member, or oneself; the last owner stays. */
export const DELETE = handler({
  guard: siteMember("viewer"), // anyone may leave; SQL lets only owners remove others
  params,
  run: ({ actor, params, request, rawBody }) =>
    removeMember(actor.db, { siteId: actor.siteId, ...params, once: requestIdentity(request, rawBody) }),
});
