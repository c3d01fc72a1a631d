import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";
import { runRetention } from "#lib/privacy/retention.ts";

export const maxDuration = 60;

/** GET /api/cron/privacy/retention (daily) removes personal data that is past its time. */
export const GET = handler({ guard: cron, run: runRetention });
export const POST = GET;
