import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { readWhyNotCounted } from "#lib/oci/queue/why-not-counted.ts";

/** GET /api/sites/:siteId/sales/:saleId/why-not-counted names the first broken link between the click and Google's verdict. */
export const GET = handler({
  guard: siteMember("viewer"),
  params: z.object({ saleId: z.uuid() }),
  run: ({ actor, params }) => readWhyNotCounted(actor.db, actor.siteId, params.saleId),
});
