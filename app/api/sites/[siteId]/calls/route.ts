import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { deskFilter } from "#lib/leads/desk-filter.ts";
import { readDeskPage } from "#lib/leads/desk-readers.ts";

const ids = z.string().transform((text) => text.split(","));
const query = deskFilter.extend({ cursor: z.string().max(80).optional(), ids: ids.pipe(z.array(z.uuid()).max(100)).optional() });

/** GET /api/sites/:siteId/calls is a page of leads, or the leads that `ids` names. */
export const GET = handler({
  guard: siteMember("viewer"),
  query,
  run: ({ actor, query: { cursor, ids, ...filter } }) => readDeskPage(actor.db, actor.siteId, filter, { cursor, ids }),
});
