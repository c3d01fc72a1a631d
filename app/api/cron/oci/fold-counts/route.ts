import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";
import { foldQueueCounts } from "#lib/oci/queue/counts.ts";

/** GET /api/cron/oci/fold-counts (every minute) puts what the queue's changes appended into its running figures. */
export const GET = handler({ guard: cron, run: foldQueueCounts });
export const POST = GET;
