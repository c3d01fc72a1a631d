import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { personLimit } from "#lib/http/rate-limit.ts";
import { erasePerson } from "#lib/privacy/erase.ts";
import { ownersDoor } from "#lib/privacy/owners-door.ts";
import { askedPerson } from "#lib/privacy/person.ts";

export const maxDuration = 60;

/** POST /api/sites/:siteId/privacy/erase erases a person and answers with the receipt. */
export const POST = handler({
  guard: siteMember("owner"),
  limits: { after: personLimit("privacy", 60) },
  body: askedPerson,
  run: ({ actor, body }) => erasePerson(ownersDoor(actor.db, actor.siteId), body),
});
