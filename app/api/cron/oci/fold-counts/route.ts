import { handler } from "#lib/http/handler.ts";
import { cron } from "#lib/http/machine-guards.ts";
import { foldQueueCounts } from "#lib/oci/count-crons.ts";

/** GET /api/cron/oci/fold-counts (every minute) puts what the queue's changes appended into its running figures. */
export const GET = handler({ guard: cron, run: foldQueueCounts });
export const POST = GET;
