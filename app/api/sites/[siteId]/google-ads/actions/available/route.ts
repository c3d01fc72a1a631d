import { listActions } from "#lib/delivery/connect.ts";
import { accountInput } from "#lib/delivery/connection-shapes.ts";
import { readConsent } from "#lib/delivery/google-consent.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { personLimit } from "#lib/http/rate-limit.ts";

/** POST /api/sites/:siteId/google-ads/actions/available lists the account's conversion actions, also before the account is connected. */
export const POST = handler({
  guard: siteMember("owner"),
  limits: { after: personLimit("google-ads", 30) },
  body: accountInput,
  run: async ({ actor, body, request }) =>
    listActions(actor.siteId, body, await readConsent(request, { siteId: actor.siteId, userId: actor.user.id })),
});
