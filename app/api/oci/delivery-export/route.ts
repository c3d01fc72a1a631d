import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { personLimit } from "#lib/http/rate-limit.ts";
import { deliveryCsv, deliveryExportQuery } from "#lib/oci/queue/days.ts";

/** GET /api/oci/delivery-export gives the same days as CSV. */
export const GET = handler({
  guard: siteMember("viewer"),
  limits: { after: personLimit("delivery-export", 10) },
  query: deliveryExportQuery,
  run: ({ actor, query: { siteId, bom, ...span } }) => deliveryCsv(actor.db, siteId, { ...span, bom: bom === "true" }),
});
