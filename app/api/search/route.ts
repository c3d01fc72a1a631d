import { signedIn } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { personLimit } from "#lib/http/rate-limit.ts";
import { searchQuery, searchSites } from "#lib/leads/search-sites.ts";

/** GET /api/search?q=&site= finds leads and sales on all sites of the caller, the site in view first. */
export const GET = handler({
  guard: signedIn,
  limits: { after: personLimit("search", 120) },
  query: searchQuery,
  run: ({ actor, query }) => searchSites(actor.db, query),
});
