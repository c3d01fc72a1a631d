import { purgeExpiredKeys } from "#lib/billing/month-end.ts";
import { handler } from "#lib/http/handler.ts";
import { cron } from "#lib/http/machine-guards.ts";

/** GET /api/cron/billing/idempotency-cleanup (hourly, at :40) forgets expired keys of months that have their invoice. */
export const GET = handler({ guard: cron, run: purgeExpiredKeys });
export const POST = GET;
