import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { requestIdentity, serveOnce } from "#lib/http/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { confirmRequest, confirmSale } from "#lib/seal/desk-changes.ts";

/** POST /api/sites/:siteId/sales/:saleId/confirm seals a draft. */
export const POST = handler({
  guard: siteMember("operator"),
  params: z.object({ saleId: z.uuid() }),
  body: confirmRequest,
  run: async ({ actor, params, body, request, rawBody }) =>
    serveOnce(await confirmSale(actor.db, { siteId: actor.siteId, id: params.saleId, body, once: requestIdentity(request, rawBody) })),
});
