import { readConnection } from "#lib/delivery/connect.ts";
import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";

/** GET /api/sites/:siteId/google-ads says how the site's connection stands. */
export const GET = handler({ guard: siteMember("viewer"), run: ({ actor }) => readConnection(actor.db, actor.publicId) });
