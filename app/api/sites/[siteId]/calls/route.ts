import { z } from "zod";
import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { deskFilter } from "#lib/leads/desk-filter.ts";
import { readLeads } from "#lib/leads/desk-readers.ts";

const query = deskFilter.extend({ cursor: z.string().max(80).optional(), since: z.iso.datetime({ offset: true }).optional() });

/** GET /api/sites/:siteId/calls is a page of leads, or with `since` only those that changed after it. */
export const GET = handler({
  guard: siteMember("viewer"),
  query,
  run: ({ actor, query: { cursor, since, ...filter } }) => readLeads(actor.db, actor.publicId, { filter, cursor, since }),
});
