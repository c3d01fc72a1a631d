import { chooseActions } from "#lib/delivery/connect.ts";
import { actionsInput } from "#lib/delivery/connection-shapes.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";

/** POST /api/sites/:siteId/google-ads/actions chooses which conversion action each of the site's conversions goes to. */
export const POST = handler({
  guard: siteMember("owner"),
  body: actionsInput,
  run: ({ actor, body }) => chooseActions(actor.db, actor.siteId, body.actions),
});
