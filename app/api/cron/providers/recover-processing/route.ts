import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";
import { recoverProcessing, recoverQuery } from "#lib/oci/queue/recover.ts";

export const maxDuration = 60;

/** GET /api/cron/providers/recover-processing (every 10 minutes) requeues what was handed out and got no answer. */
export const GET = handler({ guard: cron, query: recoverQuery, run: ({ query }) => recoverProcessing(query.min_age_minutes) });
export const POST = GET;
