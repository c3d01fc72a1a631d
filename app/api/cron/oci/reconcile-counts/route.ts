import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";
import { reconcileQueueCounts } from "#lib/oci/queue/counts.ts";

/** GET /api/cron/oci/reconcile-counts (daily) counts the queue in steps and compares the running figures with it. */
export const GET = handler({ guard: cron, run: reconcileQueueCounts });
export const POST = GET;
