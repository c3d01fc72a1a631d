import { seedCredentials, seedInput, stagingCron } from "#lib/delivery/seed-credentials.ts";
import { handler } from "#lib/http/handler.ts";

/** POST /api/cron/providers/seed-credentials stores a site's credentials on staging. Refused in production. */
export const POST = handler({ guard: stagingCron, body: seedInput, run: ({ body }) => seedCredentials(body) });
