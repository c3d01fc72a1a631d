import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { requestIdentity, serveOnce } from "#lib/http/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { correctionRequest, correctSale } from "#lib/seal/desk-changes.ts";

/** POST /api/sites/:siteId/sales/:saleId/correct writes what the sale was really worth. */
export const POST = handler({
  guard: siteMember("operator"),
  params: z.object({ saleId: z.uuid() }),
  body: correctionRequest,
  run: async ({ actor, params, body, request, rawBody }) =>
    serveOnce(await correctSale(actor.db, { siteId: actor.siteId, id: params.saleId, body, once: requestIdentity(request, rawBody) })),
});
