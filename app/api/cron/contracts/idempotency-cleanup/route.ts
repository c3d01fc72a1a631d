import { purgeIdempotencyKeys } from "#lib/contracts/upkeep.ts";
import { handler } from "#lib/http/handler.ts";
import { cron } from "#lib/http/machine-guards.ts";

/** GET /api/cron/contracts/idempotency-cleanup (daily, 03:37 UTC) forgets answers whose time is over. */
export const GET = handler({ guard: cron, run: () => purgeIdempotencyKeys() });
export const POST = GET;
