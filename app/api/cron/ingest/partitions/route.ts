import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";
import { keepIngestTidy } from "#lib/ingest/recover.ts";

/** GET /api/cron/ingest/partitions (daily) makes the coming months' partitions of events. It deletes choices of visitors without a session and replaced call secrets. */
export const GET = handler({ guard: cron, run: keepIngestTidy });
export const POST = GET;
