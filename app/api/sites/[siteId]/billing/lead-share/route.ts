import { leadShare } from "#lib/billing/billing-shapes.ts";
import { setLeadShare } from "#lib/billing/invoices.ts";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";

/** PATCH /api/sites/:siteId/billing/lead-share sets how much of a month only leads may use. */
export const PATCH = handler({
  guard: siteMember("owner"),
  body: leadShare,
  run: ({ actor, body }) => setLeadShare(actor.db, actor.siteId, body),
});
