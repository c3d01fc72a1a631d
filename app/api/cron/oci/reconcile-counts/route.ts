import { handler } from "#lib/http/handler.ts";
import { cron } from "#lib/http/machine-guards.ts";
import { reconcileQueueCounts } from "#lib/oci/count-crons.ts";

/** GET /api/cron/oci/reconcile-counts (daily) counts the queue in steps and compares the running figures with it. */
export const GET = handler({ guard: cron, run: reconcileQueueCounts });
export const POST = GET;
