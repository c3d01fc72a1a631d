import { testConversion } from "#lib/delivery/test-conversion.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { personLimit } from "#lib/http/rate-limit.ts";

/** POST /api/sites/:siteId/google-ads/test-conversion asks Google to check a conversion that never happened, and keeps only the answer. */
export const POST = handler({
  guard: siteMember("owner"),
  limits: { after: personLimit("google-ads", 30) },
  run: ({ actor }) => testConversion(actor.siteId),
});
