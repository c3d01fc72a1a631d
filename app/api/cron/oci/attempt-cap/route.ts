import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";
import { attemptCapQuery, capAttempts } from "#lib/oci/queue/recover.ts";

/** GET /api/cron/oci/attempt-cap (every 15 minutes) fails rows that used up their attempts. */
export const GET = handler({ guard: cron, query: attemptCapQuery, run: ({ query }) => capAttempts(query) });
export const POST = GET;
