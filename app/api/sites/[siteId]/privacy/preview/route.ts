import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { personLimit } from "#lib/http/rate-limit.ts";
import { previewErasure } from "#lib/privacy/erase.ts";
import { ownersDoor } from "#lib/privacy/owners-door.ts";
import { askedPerson } from "#lib/privacy/person.ts";

/** POST /api/sites/:siteId/privacy/preview says how much is stored of a person. In the body: an address would stand in logs. */
export const POST = handler({
  guard: siteMember("owner"),
  limits: { after: personLimit("privacy", 60) },
  body: askedPerson,
  run: ({ actor, body }) => previewErasure(ownersDoor(actor.db, actor.siteId), body),
});
