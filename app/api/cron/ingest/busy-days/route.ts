import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";
import { noteBusyDays } from "#lib/ingest/site-ceiling.ts";

/** GET /api/cron/ingest/busy-days (hourly) writes down what sites sent yesterday; their ceilings follow it. */
export const GET = handler({ guard: cron, run: noteBusyDays });
export const POST = GET;
