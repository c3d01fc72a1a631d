import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { setSiteDelivery } from "#lib/tenancy/changes.ts";
import { deliveryInput } from "#lib/tenancy/site-delivery.ts";

/** PATCH /api/sites/:siteId/delivery sets what leads are worth and what is sent to Google. Fields left out stay. */
export const PATCH = handler({
  guard: siteMember("owner"),
  body: deliveryInput,
  run: ({ actor, body }) => setSiteDelivery(actor.db, actor.siteId, body),
});
