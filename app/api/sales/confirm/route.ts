import { requestIdentity, serveOnce } from "#lib/http/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { confirmExternalSale, confirmSaleRequest, salesKey, salesLimits } from "#lib/seal/external-sales.ts";

/** POST /api/sales/confirm seals a recorded sale and queues it for Google. */
export const POST = handler({
  guard: salesKey,
  limits: salesLimits,
  body: confirmSaleRequest,
  run: async ({ actor, body, request, rawBody }) => serveOnce(await confirmExternalSale(actor, body, requestIdentity(request, rawBody))),
});
