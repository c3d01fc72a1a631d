import { purgeIdempotencyKeys } from "#lib/contracts/upkeep.ts";
import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";

/** GET /api/cron/contracts/idempotency-cleanup (daily, 03:37 UTC) deletes expired answers. */
export const GET = handler({ guard: cron, run: () => purgeIdempotencyKeys() });
export const POST = GET;
