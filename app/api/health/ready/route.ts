import { anyone } from "#lib/guards/machine.ts";
import { readiness } from "#lib/health/readiness.ts";
import { handler } from "#lib/http/handler.ts";
import { addressLimit } from "#lib/http/rate-limit.ts";

/** GET /api/health/ready says whether each part behind this deployment answers, and how fast. 503 when one does not. */
export const GET = handler({
  guard: anyone,
  limits: { before: addressLimit("ready", 60) },
  run: async () => {
    const state = await readiness();
    return Response.json(state, { status: state.ready ? 200 : 503 });
  },
});
