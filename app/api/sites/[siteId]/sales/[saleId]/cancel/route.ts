import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { requestIdentity, serveOnce } from "#lib/http/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { cancelRequest, cancelSale } from "#lib/seal/desk-changes.ts";

/** POST /api/sites/:siteId/sales/:saleId/cancel: the sale did not happen. */
export const POST = handler({
  guard: siteMember("operator"),
  params: z.object({ saleId: z.uuid() }),
  body: cancelRequest,
  run: async ({ actor, params, body, request, rawBody }) =>
    serveOnce(await cancelSale(actor.db, { siteId: actor.siteId, id: params.saleId, body, once: requestIdentity(request, rawBody) })),
});
