import { z } from "zod";
import { getProof, proofScopes } from "#lib/contracts/transition.ts";
import { keyOrMember } from "#lib/guards/key-or-member.ts";
import { handler } from "#lib/http/handler.ts";

/** GET /v1/contract/proofs/:proofId is the receipt of one proof, for its tenant. Unknown and not-yours are the same 404. */
export const GET = handler({
  guard: keyOrMember(proofScopes),
  params: z.object({ proofId: z.uuid() }),
  run: ({ actor, params }) => getProof(actor, params.proofId),
});
