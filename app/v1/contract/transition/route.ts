import { transitionContract, transitionRequest, transitionScopes } from "#lib/contracts/transition.ts";
import { actorId, keyOrMember } from "#lib/guards/key-or-member.ts";
import { requireIdentity, serveOnce } from "#lib/http/answer-once.ts";
import { handler } from "#lib/http/handler.ts";
import { addressLimit } from "#lib/http/rate-limit.ts";

/** POST /v1/contract/transition makes one legal move of a call, a sale or a conversion, once per key (docs/api/contracts.md). */
export const POST = handler({
  guard: keyOrMember(transitionScopes),
  limits: {
    before: addressLimit("transition-address", 1200), // one server may use a key's whole allowance
    after: {
      name: "transition",
      requests: 1200,
      windowSeconds: 60,
      key: ({ actor }) => actorId(actor),
      whenRedisIsDown: "fail-open",
    },
  },
  body: transitionRequest,
  run: async ({ actor, body, request, rawBody }) =>
    serveOnce(await transitionContract(actor, body, requireIdentity(request, rawBody, body.idempotency_key))),
});
