import { startConsent } from "#lib/delivery/google-consent.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";

/** GET /api/sites/:siteId/google-ads/oauth/start sends an owner to Google's consent page. */
export const GET = handler({
  guard: siteMember("owner"),
  run: ({ actor }) => startConsent({ siteId: actor.siteId, userId: actor.user.id }),
});
