import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { deskFilter } from "#lib/leads/desk-filter.ts";
import { readDeskChanges, readDeskPage } from "#lib/leads/desk-readers.ts";

const query = deskFilter.extend({ cursor: z.string().max(80).optional(), since: z.iso.datetime({ offset: true }).optional() });

/** GET /api/sites/:siteId/calls is a page of leads, or with `since` only those that changed after it. */
export const GET = handler({
  guard: siteMember("viewer"),
  query,
  run: ({ actor, query: { cursor, since, ...filter } }) =>
    since ? readDeskChanges(actor.db, actor.publicId, filter, since) : readDeskPage(actor.db, actor.publicId, filter, cursor),
});
