import { rotateGoogleAds } from "#lib/delivery/connect.ts";
import { rotateInput } from "#lib/delivery/connection-shapes.ts";
import { readConsent } from "#lib/delivery/google-consent.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { personLimit } from "#lib/http/rate-limit.ts";

/** POST /api/sites/:siteId/google-ads/rotate gives the same account a new refresh token, once Google takes it. */
export const POST = handler({
  guard: siteMember("owner"),
  limits: { after: personLimit("google-ads", 30) },
  body: rotateInput,
  run: async ({ actor, body, request }) =>
    rotateGoogleAds(actor.db, actor.siteId, body, await readConsent(request, { siteId: actor.siteId, userId: actor.user.id })),
});
