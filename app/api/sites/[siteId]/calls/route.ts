import { z } from "zod";
import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { deskFilter } from "#lib/leads/desk-filter.ts";
import { readLeads } from "#lib/leads/desk-readers.ts";

const ids = z.string().transform((text) => text.split(","));
const query = deskFilter.extend({ cursor: z.string().max(80).optional(), ids: ids.pipe(z.array(z.uuid()).max(100)).optional() });

/** GET /api/sites/:siteId/calls is a page of leads, or the leads that `ids` names. */
export const GET = handler({
  guard: siteMember("viewer"),
  query,
  run: ({ actor, query: { cursor, ids, ...filter } }) => readLeads(actor.db, actor.publicId, { filter, cursor, ids }),
});
