import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { readFigures } from "#lib/leads/desk-readers.ts";

/** GET /api/sites/:siteId/figures is today's figures and the last 60 days. */
export const GET = handler({ guard: siteMember("viewer"), run: ({ actor }) => readFigures(actor.db, actor.publicId) });
