import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { setSitePrivacy } from "#lib/tenancy/changes.ts";
import { sitePrivacy } from "#lib/tenancy/site-fields.ts";
import { readConsentCost } from "#lib/tenancy/site-setup.ts";

/** GET /api/sites/:siteId/privacy counts the events of the last day that came without consent: what "ask first" would have dropped. */
export const GET = handler({
  guard: siteMember("owner"),
  run: ({ actor }) => readConsentCost(actor.db, actor.siteId),
});

/** PATCH /api/sites/:siteId/privacy sets how visitors' wishes are honoured. */
export const PATCH = handler({
  guard: siteMember("owner"),
  body: sitePrivacy,
  run: ({ actor, body }) => setSitePrivacy(actor.db, actor.siteId, body),
});
