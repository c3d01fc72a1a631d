import { requestIdentity, serveOnce } from "#lib/http/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { externalSaleRequest, recordExternalSale, salesKey, salesLimits } from "#lib/seal/external-sales.ts";

/** POST /api/sales records a sale from another system as a draft, once per external_ref. */
export const POST = handler({
  guard: salesKey,
  limits: salesLimits,
  body: externalSaleRequest,
  run: async ({ actor, body, request, rawBody }) => serveOnce(await recordExternalSale(actor, body, requestIdentity(request, rawBody))),
});
