import { handler } from "#lib/http/handler.ts";
import { cron } from "#lib/http/machine-guards.ts";
import { reconcileQueueCounts } from "#lib/oci/count-crons.ts";

/** GET /api/cron/oci/reconcile-counts (daily) compares the running figures with a full count. */
export const GET = handler({ guard: cron, run: reconcileQueueCounts });
export const POST = GET;
