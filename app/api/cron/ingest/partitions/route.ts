import { handler } from "#lib/http/handler.ts";
import { cron } from "#lib/http/machine-guards.ts";
import { ensureEventPartitions } from "#lib/ingest/recover.ts";

/** GET /api/cron/ingest/partitions (daily) makes the coming months' partitions of events. */
export const GET = handler({ guard: cron, run: ensureEventPartitions });
export const POST = GET;
