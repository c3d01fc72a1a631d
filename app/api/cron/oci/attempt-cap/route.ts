import { handler } from "#lib/http/handler.ts";
import { cron } from "#lib/http/machine-guards.ts";
import { attemptCapQuery, capAttempts } from "#lib/oci/recover.ts";

/** GET /api/cron/oci/attempt-cap (every 15 minutes) ends what used up its attempts. */
export const GET = handler({ guard: cron, query: attemptCapQuery, run: ({ query }) => capAttempts(query) });
export const POST = GET;
