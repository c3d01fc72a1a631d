import { dryRunInput } from "#lib/delivery/connection-shapes.ts";
import { dryRun } from "#lib/delivery/dry-run.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { personLimit } from "#lib/http/rate-limit.ts";

/** POST /api/sites/:siteId/google-ads/dry-run asks Google whether it would take a row, and changes nothing there. */
export const POST = handler({
  guard: siteMember("owner"),
  limits: { after: personLimit("google-ads", 30) },
  body: dryRunInput,
  run: ({ actor, body }) => dryRun(actor.siteId, body.id),
});
