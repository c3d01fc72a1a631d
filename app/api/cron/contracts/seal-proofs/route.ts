import { sealProofs } from "#lib/contracts/upkeep.ts";
import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";

/** GET /api/cron/contracts/seal-proofs (each minute) puts committed proofs into blocks. */
export const GET = handler({ guard: cron, run: sealProofs });
export const POST = GET;
