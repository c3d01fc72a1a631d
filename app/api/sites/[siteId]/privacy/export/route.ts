import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { personLimit } from "#lib/http/rate-limit.ts";
import { exportResponse } from "#lib/privacy/export.ts";
import { ownersDoor } from "#lib/privacy/owners-door.ts";
import { askedPerson } from "#lib/privacy/person.ts";

/** POST /api/sites/:siteId/privacy/export downloads everything that is stored of a person, as one JSON file. */
export const POST = handler({
  guard: siteMember("owner"),
  limits: { after: personLimit("privacy", 60) },
  body: askedPerson,
  run: ({ actor, body }) => exportResponse(ownersDoor(actor.db, actor.siteId), body),
});
