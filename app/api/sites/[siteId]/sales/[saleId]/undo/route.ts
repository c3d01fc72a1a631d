import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { requestIdentity, serveOnce } from "#lib/http/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { undoRequest, undoSale } from "#lib/seal/desk-changes.ts";

/** POST /api/sites/:siteId/sales/:saleId/undo takes back a sale's newest step within ten minutes. */
export const POST = handler({
  guard: siteMember("operator"),
  params: z.object({ saleId: z.uuid() }),
  body: undoRequest,
  run: async ({ actor, params, body, request, rawBody }) =>
    serveOnce(await undoSale(actor.db, { siteId: actor.siteId, id: params.saleId, body, once: requestIdentity(request, rawBody) })),
});
