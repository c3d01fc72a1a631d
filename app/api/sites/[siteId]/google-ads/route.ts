import { readConnection } from "#lib/delivery/connect.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";

/** GET /api/sites/:siteId/google-ads gives the state of the site's connection. */
export const GET = handler({ guard: siteMember("viewer"), run: ({ actor }) => readConnection(actor.db, actor.siteId) });
