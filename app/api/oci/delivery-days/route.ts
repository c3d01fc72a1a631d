import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { deliveryDaysQuery, readDeliveryDays } from "#lib/oci/delivery-days.ts";

/** GET /api/oci/delivery-days says, day by day, what was sent and what Google says of it. */
export const GET = handler({
  guard: siteMember("viewer"),
  query: deliveryDaysQuery,
  run: ({ actor, query: { siteId, ...span } }) => readDeliveryDays(actor.db, siteId, span),
});
