import { connectGoogleAds } from "#lib/delivery/connect.ts";
import { connectInput } from "#lib/delivery/connection-shapes.ts";
import { readConsent } from "#lib/delivery/google-consent.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { personLimit } from "#lib/http/rate-limit.ts";

/** POST /api/sites/:siteId/google-ads/connect tests credentials and keeps them when Google takes them. */
export const POST = handler({
  guard: siteMember("owner"),
  limits: { after: personLimit("google-ads", 30) },
  body: connectInput,
  run: async ({ actor, body, request }) =>
    connectGoogleAds(actor.db, actor.siteId, body, await readConsent(request, { siteId: actor.siteId, userId: actor.user.id })),
});
