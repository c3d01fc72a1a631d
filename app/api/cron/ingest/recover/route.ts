import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";
import { recoverIngest } from "#lib/ingest/recover.ts";

export const maxDuration = 60;

/** GET /api/cron/ingest/recover (each minute) stores what no wake-up reached, folds drop counts and purges stored payloads. */
export const GET = handler({ guard: cron, run: recoverIngest });
export const POST = GET;
