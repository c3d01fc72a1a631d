import { disconnectGoogleAds } from "#lib/delivery/connect.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";

/** POST /api/sites/:siteId/google-ads/disconnect deletes the stored credentials; rows wait for the next connection. */
export const POST = handler({ guard: siteMember("owner"), run: ({ actor }) => disconnectGoogleAds(actor.db, actor.siteId) });
