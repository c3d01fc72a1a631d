import { previewSwitch, switchDelivery } from "#lib/delivery/connect.ts";
import { switchInput, switchQuery } from "#lib/delivery/connection-shapes.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";

/** POST /api/sites/:siteId/google-ads/switch sends by script or by API from now on; with ?preview=1 it says what that would mean. */
export const POST = handler({
  guard: siteMember("owner"),
  query: switchQuery,
  body: switchInput,
  run: ({ actor, query, body }) => (query.preview ? previewSwitch : switchDelivery)(actor.db, actor.siteId, body.to),
});
