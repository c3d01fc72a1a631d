import { z } from "zod";
import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { readWhyNotCounted } from "#lib/oci/why-not-counted.ts";

/** GET /api/sites/:siteId/sales/:saleId/why-not-counted names the first broken link between the click and Google's verdict. */
export const GET = handler({
  guard: siteMember("viewer"),
  params: z.object({ saleId: z.uuid() }),
  run: ({ actor, params }) => readWhyNotCounted(actor.db, actor.publicId, params.saleId),
});
