import { sealProofs } from "#lib/contracts/upkeep.ts";
import { handler } from "#lib/http/handler.ts";
import { cron } from "#lib/http/machine-guards.ts";

/** GET /api/cron/contracts/seal-proofs (each minute) puts committed proofs into blocks. */
export const GET = handler({ guard: cron, run: sealProofs });
export const POST = GET;
