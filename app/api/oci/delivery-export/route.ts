import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { personLimit } from "#lib/http/rate-limit.ts";
import { deliveryExportQuery } from "#lib/oci/delivery-days.ts";
import { deliveryCsv } from "#lib/oci/delivery-export.ts";

/** GET /api/oci/delivery-export gives the same days as CSV. */
export const GET = handler({
  guard: siteMember("viewer"),
  limits: { after: personLimit("delivery-export", 10) },
  query: deliveryExportQuery,
  run: ({ actor, query: { siteId, bom, ...span } }) => deliveryCsv(actor.db, siteId, { ...span, bom: bom === "true" }),
});
