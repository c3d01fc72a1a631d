import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { callEventSecret } from "#lib/tenancy/changes.ts";

/** POST /api/sites/:siteId/call-event-secret shows the secret that signs call events, after replacing it when asked to. */
export const POST = handler({
  guard: siteMember("owner"),
  body: z.object({ rotate: z.boolean().default(false) }),
  run: ({ actor, body }) => callEventSecret(actor.db, actor.siteId, body.rotate),
});
