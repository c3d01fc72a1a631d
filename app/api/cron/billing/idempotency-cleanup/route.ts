import { purgeExpiredKeys } from "#lib/billing/month-end.ts";
import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";

/** GET /api/cron/billing/idempotency-cleanup (hourly, at :40) forgets expired keys of months that have their invoice. */
export const GET = handler({ guard: cron, run: purgeExpiredKeys });
export const POST = GET;
