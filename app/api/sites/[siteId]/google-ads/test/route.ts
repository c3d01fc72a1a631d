import { testGoogleAds } from "#lib/delivery/connect.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { personLimit } from "#lib/http/rate-limit.ts";

/** POST /api/sites/:siteId/google-ads/test tries the stored credentials; a passed test ends a block. */
export const POST = handler({
  guard: siteMember("owner"),
  limits: { after: personLimit("google-ads", 30) },
  run: ({ actor }) => testGoogleAds(actor.db, actor.siteId),
});
