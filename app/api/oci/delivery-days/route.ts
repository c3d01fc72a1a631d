import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { deliveryDaysQuery, readDeliveryDays } from "#lib/oci/queue/days.ts";

/** GET /api/oci/delivery-days says, day by day, what was sent and what Google says of it. */
export const GET = handler({
  guard: siteMember("viewer"),
  query: deliveryDaysQuery,
  run: ({ actor, query: { siteId, ...span } }) => readDeliveryDays(actor.db, siteId, span),
});
